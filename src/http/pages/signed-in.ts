import type { Request, RequestHandler, Response, Router } from "express";
import type { Caller } from "../../access/caller.ts";
import { allScopes } from "../../access/scopes.ts";
import type { Account } from "../../principals/accounts/accounts.ts";
import type { Browser } from "../../principals/accounts/browser-sessions.ts";
import { rejectOtherMethods } from "../allowed-methods.ts";
import type { CsrfGuard } from "./csrf.ts";
import { formReader, type Refused } from "./form.ts";
import type { PageContext } from "./page-context.ts";
import { safeReturnPath, withReturnPath } from "./return-to.ts";

/** A request of a signed-in person to a page. */
export interface SignedInVisit {
  readonly req: Request;
  readonly res: Response;
  readonly browser: Browser;
  readonly account: Account;
  /** The person as a caller: no client acts for them, and they have every scope. */
  readonly caller: Caller;
}

/**
 * Creates a handler that serves signed-in people and redirects others to the sign-in page.
 *
 * @param by Name of the CSRF check that the request must pass.
 */
type ServeSignedIn = (
  by: keyof CsrfGuard,
  handle: (visit: SignedInVisit) => Promise<void>,
) => RequestHandler;

/** Creates `ServeSignedIn` for the pages. */
export function createServeSignedIn({ csrf, accounts, baseUrl }: PageContext): ServeSignedIn {
  return (by, handle) => async (req, res) => {
    const browser = await csrf[by](req, res);
    const { session } = browser;
    const account = session && (await accounts.find(session.accountId));
    if (account === undefined) {
      const place = safeReturnPath(by === "openPage" ? req.originalUrl : undefined);
      return res.redirect(303, withReturnPath("/sign-in", place));
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

/** Shows the account page, after the refusal of one of its forms. */
export type ShowAccount = (visit: SignedInVisit, refused: Refused) => Promise<void>;

/** Mounts the handler of a form that only people who are signed in can send. */
export function mountSignedInForm(
  router: Router,
  context: PageContext,
  path: string,
  handle: (visit: SignedInVisit) => Promise<void>,
): void {
  router
    .route(path)
    .post(...formReader, createServeSignedIn(context)("requireOwnForm", handle))
    .all(rejectOtherMethods(["post"]));
}
