import type { Request } from "express";
import type { Accounts } from "../../../auth/accounts/accounts.ts";
import type { Sessions } from "../../../auth/accounts/browser-sessions.ts";
import { allScopes, type Scope } from "../../../auth/scopes.ts";
import { addressKey } from "../../../limits/address-key.ts";
import type { Limits } from "../../../limits/quotas.ts";
import { createThrottle } from "../throttle.ts";

/** The viewer of a page. */
export interface Viewer {
  readonly isSignedIn: boolean;
  /** Account of a signed-in person. */
  readonly accountId?: string;
  /** Scopes that the viewer may see; empty if nothing is public. */
  readonly scopes: ReadonlySet<Scope>;
}

/**
 * Identifies the viewer of a page, and counts the visit.
 *
 * @throws {Problem} `rate_limited`
 */
export type ViewerOf = (req: Pick<Request, "headers" | "ip">) => Promise<Viewer>;

/** Dependencies of the identification of viewers. */
export interface ViewerOptions {
  readonly sessions: Pick<Sessions, "browserOf">;
  readonly accounts: Pick<Accounts, "find">;
  /** The quota `calls` counts visits: those of a signed-in person together with their calls, others
   *  by address. */
  readonly limits: Limits;
  /** Scopes of agents without an owner, which anonymous viewers have too. */
  readonly anonymousScopes: readonly Scope[];
}

/** Creates the function that identifies viewers. A signed-in person sees everything that they could
 *  grant to a program. Others see what an agent without an owner may read. No cookie is set, since
 *  the pages only display data. */
export function createViewerOf({
  sessions,
  accounts,
  limits,
  anonymousScopes,
}: ViewerOptions): ViewerOf {
  const throttle = createThrottle(limits);
  const publicScopes = new Set<Scope>(anonymousScopes);
  const personalScopes = new Set<Scope>(allScopes);
  return async ({ headers, ip }) => {
    const { session } = await sessions.browserOf(headers.cookie);
    const account = session && (await accounts.find(session.accountId));
    await throttle({ calls: account ? `user:${account.id}` : `address:${addressKey(ip)}` });
    return account
      ? { isSignedIn: true, accountId: account.id, scopes: personalScopes }
      : { isSignedIn: false, scopes: publicScopes };
  };
}
