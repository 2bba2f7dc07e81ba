import type { Request, RequestHandler, Response } from "express";
import type { Account } from "../../auth/accounts/accounts.ts";
import type { Browser } from "../../auth/accounts/browser-sessions.ts";
import type { Caller } from "../../auth/caller.ts";
import { allScopes } from "../../auth/scopes.ts";
import type { CsrfGuard } from "./form.ts";
import type { PageContext } from "./page-context.ts";
import { returnTo, withReturn } from "./return-to.ts";

/** A signed-in person at a page. */
export interface Visit {
  readonly req: Request;
  readonly res: Response;
  readonly browser: Browser;
  readonly account: Account;
  /** The person themselves as a caller: no client acts for them, and they hold every scope. */
  readonly caller: Caller;
}

/** Serves signed-in people, and sends others to the sign-in page. @param by Checks the request. */
export type SignedIn = (
  by: keyof CsrfGuard,
  handle: (visit: Visit) => Promise<void>,
) => RequestHandler;

/** Creates the function that serves signed-in people. */
export function createSignedIn({ csrf, accounts, baseUrl }: PageContext): SignedIn {
  return (by, handle) => async (req, res) => {
    const browser = await csrf[by](req, res);
    const { session } = browser;
    const account = session && (await accounts.find(session.accountId));
    if (account === undefined) {
      const place = returnTo(by === "openPage" ? req.originalUrl : undefined);
      return res.redirect(303, withReturn("/sign-in", place));
    }
    const caller: Caller = {
      kind: "user",
      id: account.id,
      accountId: account.id,
      clientId: undefined,
      scopes: new Set(allScopes),
      resource: baseUrl,
      signedInAt: session?.signedInAt,
    };
    return handle({ req, res, browser, account, caller });
  };
}
