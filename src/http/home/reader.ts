import type { Request } from "express";
import type { Accounts } from "../../auth/accounts/accounts.ts";
import type { Sessions } from "../../auth/accounts/sessions.ts";
import { allScopes, anonymousCeiling, type Scope } from "../../auth/scopes.ts";
import { addressKey } from "../../limits/address-key.ts";
import type { Limits } from "../../limits/limits.ts";
import type { MarketMode } from "../../market/market.ts";
import { createThrottle } from "../pages/throttle.ts";

/** Who looks at a page. */
export interface Reader {
  readonly isSignedIn: boolean;
  /** What of the market they may see: nothing, where the public may see nothing. */
  readonly scopes: ReadonlySet<Scope>;
}

/** Finds out who is at a browser, and counts the visit. @throws {Problem} `rate_limited` */
export type ReaderOf = (req: Pick<Request, "headers" | "ip">) => Promise<Reader>;

/** What readers are told apart with. */
export interface ReaderOptions {
  readonly sessions: Pick<Sessions, "browserOf">;
  readonly accounts: Pick<Accounts, "find">;
  /** `calls` counts visits: of a person together with what they call, else by address. */
  readonly limits: Limits;
  readonly mode: MarketMode;
}

/**
 * Creates what tells readers apart. Whoever has an account may see all that they could let a program
 * of theirs have. The market of the sandbox is invented, and so for everyone. No cookie is set: a page
 * that only shows needs none.
 */
export function createReaderOf({ sessions, accounts, limits, mode }: ReaderOptions): ReaderOf {
  const throttle = createThrottle(limits);
  const publicScopes = new Set<Scope>(mode === "sandbox" ? anonymousCeiling : []);
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
