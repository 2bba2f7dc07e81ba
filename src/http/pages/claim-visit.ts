import type { Request, RequestHandler, Response } from "express";
import {
  type Browser,
  type BrowserSession,
  isFreshSignIn,
} from "../../principals/accounts/browser-sessions.ts";
import type { CsrfGuard } from "./csrf.ts";
import type { PageContext } from "./page-context.ts";
import { withReturnPath } from "./return-to.ts";

/** A request of a person with a recent sign-in. */
export interface ClaimVisit {
  readonly req: Request;
  readonly res: Response;
  readonly browser: Browser;
  readonly session: BrowserSession;
}

/** Handles a request of a person with a recent sign-in. */
export type FreshSignInHandler = (visit: ClaimVisit, options: PageContext) => Promise<void>;

/** CSRF check and return target of a claim page. */
interface ClaimPageOptions {
  /** Name of the CSRF check; `requireOwnForm` for a submitted form. */
  readonly csrfCheck: keyof CsrfGuard;
  /** Path to which the person returns after signing in. */
  readonly place: (req: Request) => string;
}

/**
 * Requires a recent sign-in and redirects everyone else to sign in, so that an agent that controls
 * its person's browser cannot claim itself.
 */
export function requireFreshSignIn(
  options: PageContext,
  { csrfCheck, place }: ClaimPageOptions,
  handle: FreshSignInHandler,
): RequestHandler {
  const { csrf, now } = options;
  return async (req, res) => {
    const browser = await csrf[csrfCheck](req, res);
    const { session } = browser;
    if (session !== undefined && isFreshSignIn(session.signedInAt, now().getTime())) {
      return handle({ req, res, browser, session }, options);
    }
    res.redirect(303, withReturnPath("/sign-in", place(req)));
  };
}
