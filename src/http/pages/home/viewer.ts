import type { Request } from "express";
import type { Accounts } from "../../../auth/accounts/accounts.ts";
import type { Sessions } from "../../../auth/accounts/browser-sessions.ts";
import { allScopes, type Scope } from "../../../auth/scopes.ts";
import { addressKey } from "../../../limits/address-key.ts";
import type { Limits } from "../../../limits/limits.ts";
import { createThrottle } from "../throttle.ts";

/** Who looks at a page. */
export interface Viewer {
  readonly isSignedIn: boolean;
  /** What of the market they may see: nothing, where the public may see nothing. */
  readonly scopes: ReadonlySet<Scope>;
}

/** Finds out who is at a browser, and counts the visit. @throws {Problem} `rate_limited` */
export type ViewerOf = (req: Pick<Request, "headers" | "ip">) => Promise<Viewer>;

/** What viewers are told apart with. */
export interface ViewerOptions {
  readonly sessions: Pick<Sessions, "browserOf">;
  readonly accounts: Pick<Accounts, "find">;
  /** `calls` counts visits: of a person together with what they call, else by address. */
  readonly limits: Limits;
  /** What an agent may see that nobody answers for: a person without an account may, too. */
  readonly anonymousScopes: readonly Scope[];
}

/**
 * Creates what tells viewers apart. Whoever has an account may see all that they could let a program
 * of theirs have. Whoever has none may see what a program may have that nobody answers for. No cookie
 * is set: a page that only shows needs none.
 */
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
      ? { isSignedIn: true, scopes: personalScopes }
      : { isSignedIn: false, scopes: publicScopes };
  };
}
