import type { Request, RequestHandler, Response } from "express";
import type { Accounts } from "../../auth/accounts/accounts.ts";
import { type Browser, isFreshSignIn, type Session } from "../../auth/accounts/browser-sessions.ts";
import type { Claims } from "../../auth/agents/claims.ts";
import type { CodeGuard } from "../../limits/code-guard.ts";
import type { ShowPage } from "./answer.ts";
import type { CsrfGuard } from "./form.ts";
import { withReturn } from "./return-to.ts";
import type { Throttle } from "./throttle.ts";

/** What the claim pages need. */
export interface ClaimRoutesOptions {
  readonly csrf: CsrfGuard;
  readonly show: ShowPage;
  readonly throttle: Throttle;
  readonly guard: CodeGuard;
  readonly accounts: Accounts;
  readonly claims: Claims;
  readonly now: () => Date;
}

/** A person at the claim page who proved who they are just now. */
export interface ClaimVisit {
  readonly req: Request;
  readonly res: Response;
  readonly browser: Browser;
  readonly session: Session;
}

/** Serves a person who signed in just now. */
export type FreshHandler = (visit: ClaimVisit, options: ClaimRoutesOptions) => Promise<void>;

/** How a person comes to a claim page. */
export interface ClaimEntrance {
  /** `enterByForm` for a form. */
  readonly by: keyof CsrfGuard;
  /** Where to go on after a sign-in. */
  readonly place: (req: Request) => string;
}

/**
 * Lets people pass who signed in just now, and sends all others to sign in: an agent that drives the
 * browser of its person must not be able to claim itself (discovery section 2, item 4).
 */
export function forFreshSignIn(
  options: ClaimRoutesOptions,
  { by, place }: ClaimEntrance,
  handle: FreshHandler,
): RequestHandler {
  const { csrf, now } = options;
  return async (req, res) => {
    const browser = await csrf[by](req, res);
    const { session } = browser;
    if (session !== undefined && isFreshSignIn(session.signedInAt, now().getTime())) {
      return handle({ req, res, browser, session }, options);
    }
    res.redirect(303, withReturn("/sign-in", place(req)));
  };
}
