import { type Request, type Response, Router } from "express";
import { z } from "zod";
import { Problem } from "../../lib/problem.ts";
import { partyAt } from "../../limits/address-key.ts";
import { requireAdmission, requireAdmissions } from "../../limits/rate-limit-problem.ts";
import { EmailAddress, mailboxOf } from "../../mail/email-address.ts";
import type { Browser } from "../../principals/accounts/browser-sessions.ts";
import type { CodeRecipients } from "../../principals/accounts/email-code-sign-in.ts";
import type { UpstreamSignIn } from "../../principals/accounts/upstream-sign-in.ts";
import { rejectOtherMethods } from "../allowed-methods.ts";
import { queryOf } from "../request-context.ts";
import { TOKEN_PARAMETER } from "./code-on-page.ts";
import { signInCodePage } from "./code-page.ts";
import { readForm, submittedValue, validateForm } from "./form.ts";
import type { PageAnswer } from "./page-answer.ts";
import type { PageContext } from "./page-context.ts";
import { mayResultFromForm, redirectPage } from "./redirect-page.ts";
import { safeReturnPath, withReturnPath } from "./return-to.ts";
import { signInPage } from "./sign-in.ts";
import { mailboxPass, signInPlace } from "./unsubscribe-routes.ts";

const SendForm = z.object({ email: EmailAddress });

/** Schema of the code form. Spaces and hyphens, which people copy with a code, are ignored. */
const CodeForm = z.object({
  code: z
    .string()
    .max(20)
    .transform((text) => text.replace(/[\s-]/g, "").toUpperCase()),
});

const WRONG_CODE = "This code is wrong. Try again, or ask for another one.";

const NO_CODE = "Your code is too old, or it was wrong too often. Ask for a new one.";

/** Routes of the pages where a person signs in and out. */
export function signInRoutes(options: PageContext): Router {
  const router = Router();
  sendRoute(router, options);
  codeRoute(router, options);
  providerRoutes(router, options);
  signOutRoute(router, options);
  return router;
}

function sendRoute(router: Router, options: PageContext): void {
  const { csrf, show, signIn, accounts, isMailShownToOperator, signUp, codeOnPage } = options;
  const mayShowCode = (req: Request) => codeOnPage?.isShownTo(req) ?? false;
  const emailOf = async ({ session }: Browser) =>
    session && (await accounts.find(session.accountId))?.email;

  router
    .route("/sign-in")
    .get(async (req, res) => {
      const browser = await csrf.openPage(req, res);
      const query = queryOf(req);
      const place = safeReturnPath(query.get("return_to"));
      const token = query.get(TOKEN_PARAMETER);
      if (token !== null) {
        codeOnPage?.admit(res, token);
        return res.redirect(303, place);
      }
      const email = await emailOf(browser);
      const isCodeShown = mayShowCode(req);
      show(res, signInPageFor(browser, options, { place, email, isCodeShown }));
    })
    .post(...readForm, async (req, res) => {
      const browser = await csrf.requireOwnForm(req);
      const place = safeReturnPath(submittedValue(req, "return_to"));
      const isCodeShown = mayShowCode(req);
      const { data } = validateForm(SendForm, req);
      if (data === undefined) {
        const [email, error] = [submittedValue(req, "email"), "Enter one email address."];
        return show(res, signInPageFor(browser, options, { place, email, error, isCodeShown }));
      }
      signInPlace(options).give(res, place);
      const recipients = await countCode(req, data.email, options);
      const code = await signIn.sendCode(browser.secret, data.email, recipients);
      if (!isCodeShown) return res.redirect(303, withReturnPath("/sign-in/code", place));
      const { formToken } = browser;
      show(res, signInCodePage({ ...data, code, formToken, place, isMailShownToOperator, signUp }));
    })
    .all(rejectOtherMethods(["get", "post"]));
}

/**
 * Counts a request for a code. Anyone can request codes for any address, so all codes to a mailbox
 * count together, except those for a browser in which the person signed in before, or used a link
 * that was sent to the mailbox: strangers cannot use up these. All browsers of one kind count
 * together, because each sign-in makes another browser known, and all spellings of the mailbox.
 *
 * The link was sent to whoever asked for a code to a mailbox of their own, so it gives no new
 * account that the network may not have. Whether an address has an account changes neither the
 * answer nor what counts.
 *
 * @throws {Problem} `rate_limited`
 */
async function countCode(
  req: Request,
  email: string,
  options: PageContext,
): Promise<CodeRecipients> {
  const { limits } = options;
  const party = partyAt(req.ip);
  const target = mailboxOf(email);
  const known = await knownAs(req, email, options);
  if (known === undefined) {
    await requireAdmissions(limits, [
      ["mailbox-codes", { ...party, target }],
      ["code-mails", party],
    ]).catch(sayAnotherWay);
    return { isForNew: true, isForOwner: false };
  }
  const own = { caller: target, network: target, target: `${known} ${target}` };
  await requireAdmission(limits, "mailbox-codes", own);
  const isForNew = known === "link" && !(await limits.admit("code-mails", party)).isExceeded;
  return { isForNew, isForOwner: true };
}

/** How a browser is known to be that of a person, whom strangers then cannot lock out of it. */
async function knownAs(
  req: Request,
  email: string,
  { sessions, suppression, ...options }: PageContext,
): Promise<"known" | "link" | undefined> {
  if (await sessions.knows(req.headers.cookie, email)) return "known";
  return suppression.isLinkOf(mailboxPass(options).read(req) ?? "", email) ? "link" : undefined;
}

/** @throws {Problem} The refusal, with what the owner of a mailbox can do meanwhile. */
function sayAnotherWay(refusal: unknown): never {
  if (!(refusal instanceof Problem) || refusal.code !== "rate_limited") throw refusal;
  const { detail, headers } = refusal;
  const next =
    "Or open the link at the end of any email with a code in this browser, and choose to sign in at it.";
  throw new Problem("rate_limited", { detail, next, headers });
}

/** Parameters of a sign-in page. */
interface SignInPageParameters {
  readonly place: string;
  readonly email: string | undefined;
  /** Error message to show on the page. */
  readonly error?: string;
  /** Whether the next page shows the code; default: `false`. */
  readonly isCodeShown?: boolean;
}

function signInPageFor(
  { formToken }: Browser,
  { upstream, isMailShownToOperator, signUp }: PageContext,
  { error, isCodeShown = false, ...requested }: SignInPageParameters,
): PageAnswer {
  const errors = error === undefined ? [] : [{ id: "email", text: error }];
  return signInPage({
    ...requested,
    formToken,
    errors,
    isMailShownToOperator,
    isCodeShown,
    signUp,
    upstream: upstream?.name,
  });
}

function codeRoute(router: Router, options: PageContext): void {
  const { csrf, show, guard, sessions, signIn, isMailShownToOperator, signUp } = options;
  const refuse = async ({ req, res, browser, place, email }: RejectedCode) => {
    await guard.record(partyAt(req.ip));
    const pending = await signIn.pending(browser.secret);
    if (pending === undefined) {
      return show(res, signInPageFor(browser, options, { place, email, error: NO_CODE }));
    }
    const errors = [{ id: "code", text: WRONG_CODE }];
    const { formToken } = browser;
    show(
      res,
      signInCodePage({ ...pending, formToken, place, isMailShownToOperator, signUp, errors }),
    );
  };

  router
    .route("/sign-in/code")
    .get(async (req, res) => {
      const { secret, formToken } = await csrf.openPage(req, res);
      const place = safeReturnPath(queryOf(req).get("return_to"));
      const pending = await signIn.pending(secret);
      if (pending === undefined) return res.redirect(303, withReturnPath("/sign-in", place));
      show(res, signInCodePage({ ...pending, formToken, place, isMailShownToOperator, signUp }));
    })
    .post(...readForm, async (req, res) => {
      const browser = await csrf.requireOwnForm(req);
      const place = safeReturnPath(submittedValue(req, "return_to"));
      const pending = await signIn.pending(browser.secret);
      const { cookie } = req.headers;
      // Attempts from a known browser are limited by the number of codes that it can request.
      const known = pending && (await knownAs(req, pending.email, options));
      if (known === undefined) await guard.check(partyAt(req.ip)).catch(sayAnotherWay);
      const { data } = validateForm(CodeForm, req);
      const accountId = data && (await signIn.complete(browser.secret, data.code));
      if (accountId === undefined)
        return refuse({ req, res, browser, place, email: pending?.email });
      const remembered = await sessions.rememberBrowser(cookie, accountId);
      if (remembered !== undefined) res.append("set-cookie", remembered);
      res.append("set-cookie", await sessions.open(browser, accountId)).redirect(303, place);
    })
    .all(rejectOtherMethods(["get", "post"]));
}

/** Data of a submission whose code was rejected. */
interface RejectedCode extends Pick<SignInPageParameters, "place" | "email"> {
  readonly req: Request;
  readonly res: Response;
  readonly browser: Browser;
}

function providerRoutes(router: Router, options: PageContext): void {
  const { csrf, show, limits, sessions, upstream, baseUrl } = options;
  if (upstream === undefined) return;

  router
    .route("/sign-in/provider")
    .post(...readForm, async (req, res) => {
      const { secret } = await csrf.requireOwnForm(req);
      await requireAdmission(limits, "authorizations", partyAt(req.ip));
      const { href } = await upstream.start(
        secret,
        safeReturnPath(submittedValue(req, "return_to")),
      );
      if (mayResultFromForm(req)) show(res, redirectPage(href));
      else res.redirect(303, href);
    })
    .all(rejectOtherMethods(["post"]));
  router
    .route("/sign-in/callback")
    .get(async (req, res) => {
      const browser = await csrf.openPage(req, res);
      const callback = new URL(`${baseUrl}/sign-in/callback?${queryOf(req)}`);
      const finished = await upstream.finish(browser.secret, callback);
      if (finished === undefined) throw notSignedIn(upstream);
      const { accountId, signedInAt, returnTo: place } = finished;
      res.append("set-cookie", await sessions.open(browser, accountId, signedInAt));
      res.redirect(303, safeReturnPath(place));
    })
    .all(rejectOtherMethods(["get"]));
}

const notSignedIn = ({ name }: UpstreamSignIn): Problem =>
  new Problem("invalid_request", {
    detail: `You are not signed in: the response of ${name} was invalid or too late, or is for a person who cannot sign in here.`,
    next: "Open the sign-in page and try again.",
  });

function signOutRoute(router: Router, { csrf, sessions }: PageContext): void {
  router
    .route("/sign-out")
    .post(...readForm, async (req, res) => {
      const browser = await csrf.requireOwnForm(req);
      res.append("set-cookie", await sessions.close(browser)).redirect(303, "/sign-in");
    })
    .all(rejectOtherMethods(["post"]));
}
