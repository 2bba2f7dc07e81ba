import type { Request } from "express";
import { allScopes, type Scope } from "../../../access/scopes.ts";
import { ipAddressKey, partyAt } from "../../../limits/address-key.ts";
import type { Limits } from "../../../limits/limits.ts";
import { rateLimitProblem } from "../../../limits/rate-limit-problem.ts";
import type { AccountService } from "../../../principals/accounts/accounts.ts";
import type { BrowserSessions } from "../../../principals/accounts/browser-sessions.ts";

/** The person or program that views a page. */
export interface Viewer {
  readonly isSignedIn: boolean;
  /** Account id of a signed-in person. */
  readonly accountId?: string;
  /** Scopes whose data the viewer may see; empty if nothing is public. */
  readonly scopes: ReadonlySet<Scope>;
}

/**
 * Identifies the viewer of a page, and counts the visit.
 *
 * @throws {Problem} `rate_limited`
 */
export type FindViewer = (req: Pick<Request, "headers" | "ip">) => Promise<Viewer>;

/** Dependencies of `createFindViewer`. */
export interface ViewerOptions {
  readonly sessions: Pick<BrowserSessions, "browserOf">;
  readonly accounts: Pick<AccountService, "find">;
  /**
   * Quotas. Visits count against `calls`: those of a signed-in person together with the person's
   * calls, all other visits by network address.
   */
  readonly limits: Limits;
  /** Scopes of unclaimed agents; anonymous viewers have the same scopes. */
  readonly anonymousScopes: readonly Scope[];
}

/**
 * Creates the function that identifies viewers. A signed-in person sees all data to which they
 * could grant a program access. Others see the data that an unclaimed agent may read. No cookie is
 * set, because the pages only display data.
 */
export function createFindViewer({
  sessions,
  accounts,
  limits,
  anonymousScopes,
}: ViewerOptions): FindViewer {
  const publicScopes = new Set<Scope>(anonymousScopes);
  const personalScopes = new Set<Scope>(allScopes);
  return async ({ headers, ip }) => {
    const { session } = await sessions.browserOf(headers.cookie);
    const account = session && (await accounts.find(session.accountId));
    const caller = account ? `user:${account.id}` : `address:${ipAddressKey(ip)}`;
    const refusal = rateLimitProblem([await limits.admit("calls", partyAt(ip, caller))]);
    if (refusal !== undefined) throw refusal;
    return account
      ? { isSignedIn: true, accountId: account.id, scopes: personalScopes }
      : { isSignedIn: false, scopes: publicScopes };
  };
}
