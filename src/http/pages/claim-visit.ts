import type { Request, RequestHandler, Response } from "express";
import type { Accounts } from "../../auth/accounts/accounts.ts";
import { type Browser, isFreshSignIn, type Session } from "../../auth/accounts/browser-sessions.ts";
import type { Claims } from "../../auth/agents/claims.ts";
import type { CodeGuard } from "../../limits/code-guard.ts";
import type { CsrfGuard } from "./form.ts";
import type { ShowPage } from "./page-answer.ts";
import { withReturn } from "./return-to.ts";
import type { Throttle } from "./throttle.ts";

/** Dependencies of the claim pages. */
export interface ClaimRoutesOptions {
  readonly csrf: CsrfGuard;
  readonly show: ShowPage;
  readonly throttle: Throttle;
  readonly guard: CodeGuard;
  readonly accounts: Accounts;
  readonly claims: Claims;
  readonly now: () => Date;
}

/** A request of a person with a recent sign-in. */
export interface ClaimVisit {
  readonly req: Request;
  readonly res: Response;
  readonly browser: Browser;
  readonly session: Session;
}

/** Handles a request of a person with a recent sign-in. */
export type FreshHandler = (visit: ClaimVisit, options: ClaimRoutesOptions) => Promise<void>;

/** CSRF check and return target of a claim page. */
export interface ClaimPageOptions {
  /** The CSRF check: `requireOwnForm` for a form. */
  readonly csrfCheck: keyof CsrfGuard;
  /** Where to return after a sign-in. */
  readonly place: (req: Request) => string;
}

/**
 * Requires a recent sign-in and redirects everyone else to sign in, so that an agent that controls its
 * person's browser cannot claim itself.
 */
export function forFreshSignIn(
  options: ClaimRoutesOptions,
  { csrfCheck, place }: ClaimPageOptions,
  handle: FreshHandler,
): RequestHandler {
  const { csrf, now } = options;
  return async (req, res) => {
    const browser = await csrf[csrfCheck](req, res);
    const { session } = browser;
    if (session !== undefined && isFreshSignIn(session.signedInAt, now().getTime())) {
      return handle({ req, res, browser, session }, options);
    }
    res.redirect(303, withReturn("/sign-in", place(req)));
  };
}
