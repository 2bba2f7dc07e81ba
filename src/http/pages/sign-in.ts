import { type Request, type Response, Router } from "express";
import { z } from "zod";
import type { SignUpMode } from "../../access/sign-up-mode.ts";
import { paths } from "../../lib/paths.ts";
import { partyAt } from "../../limits/address-key.ts";
import { EmailAddress } from "../../mail/email-address.ts";
import { type Html, html } from "../../markup/html.ts";
import type { Browser } from "../../principals/accounts/browser-sessions.ts";
import { rejectOtherMethods } from "../allowed-methods.ts";
import { queryOf } from "../request-context.ts";
import { TOKEN_PARAMETER } from "./code-on-page.ts";
import { countCodeRequest, requireCodeAttempt } from "./code-requests.ts";
import { untrustedText } from "./elements.ts";
import { createForm, formReader, type Refused, readForm, refuseForm } from "./form.ts";
import { showForm } from "./form-html.ts";
import type { PageAnswer } from "./page-answer.ts";
import type { PageContext } from "./page-context.ts";
import { providerButton, providerRoutes } from "./provider-sign-in.ts";
import { safeReturnPath, sentReturnPath, withReturnPath } from "./return-to.ts";
import { signInPlace } from "./unsubscribe.ts";

const addressForm = createForm({
  email: {
    control: "input",
    label: "Your email address",
    type: "email",
    autocomplete: "email",
    isRequired: true,
    maxLength: 254,
    schema: EmailAddress,
  },
});

const codeForm = createForm({
  code: {
    control: "input",
    label: "Code",
    hint: "It works in this browser only.",
    type: "text",
    look: "code",
    inputMode: "numeric",
    autocomplete: "one-time-code",
    isExact: true,
    isRequired: true,
    isFirst: true,
    isSecret: true,
    maxLength: 20,
    schema: z.string().max(20),
  },
});

const NO_ADDRESS = "Enter one email address.";

const WRONG_CODE = "This code is wrong. Try again, or ask for another one.";

const NO_CODE = "Your code is too old, or it was wrong too often. Ask for a new one.";

/** Routes of the pages where a person signs in and out. */
export function signInRoutes(context: PageContext): Router {
  const { csrf, show, signIn, sessions, codeOnPage } = context;
  const router = Router();
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
      show(res, addressPage(context, { req, browser, place, email: await emailOf(browser) }));
    })
    .post(...addressForm.reader, (req, res) => sendCode(req, res, context))
    .all(rejectOtherMethods(["get", "post"]));
  router
    .route("/sign-in/code")
    .get(async (req, res) => {
      const browser = await csrf.openPage(req, res);
      const place = safeReturnPath(queryOf(req).get("return_to"));
      const pending = await signIn.pending(browser.secret);
      if (pending === undefined) return res.redirect(303, withReturnPath("/sign-in", place));
      show(res, codePage(context, { req, browser, place, ...pending }));
    })
    .post(...codeForm.reader, (req, res) => enterCode(req, res, context))
    .all(rejectOtherMethods(["get", "post"]));
  router.use(providerRoutes(context));
  router
    .route("/sign-out")
    .post(...formReader, async (req, res) => {
      const browser = await csrf.requireOwnForm(req);
      res.append("set-cookie", await sessions.close(browser)).redirect(303, "/sign-in");
    })
    .all(rejectOtherMethods(["post"]));
  return router;

  async function emailOf({ session }: Browser): Promise<string | undefined> {
    return session && (await context.accounts.find(session.accountId))?.email;
  }
}

/** Sends a code to an address. */
async function sendCode(req: Request, res: Response, context: PageContext): Promise<void> {
  const { csrf, show, signIn, codeOnPage } = context;
  const browser = await csrf.requireOwnForm(req);
  const place = sentReturnPath(req);
  const { data } = readForm(addressForm, req);
  if (data === undefined) {
    const refused = refuseForm(addressForm, req, { email: NO_ADDRESS });
    return show(res, addressPage(context, { req, browser, place, refused }));
  }
  signInPlace(context).give(res, place);
  const recipients = await countCodeRequest(req, data.email, context);
  const code = await signIn.sendCode(browser.secret, data.email, recipients);
  if (codeOnPage?.isShownTo(req)) {
    show(res, codePage(context, { req, browser, place, email: data.email, code }));
  } else res.redirect(303, withReturnPath("/sign-in/code", place));
}

/** Signs a person in with the code, or asks for it again. */
async function enterCode(req: Request, res: Response, context: PageContext): Promise<void> {
  const { csrf, show, guard, sessions, signIn } = context;
  const browser = await csrf.requireOwnForm(req);
  const place = sentReturnPath(req);
  const before = await signIn.pending(browser.secret);
  await requireCodeAttempt(req, before?.email, context);
  const { data } = readForm(codeForm, req);
  const accountId = data && (await signIn.complete(browser.secret, data.code));
  if (accountId !== undefined) {
    const remembered = await sessions.rememberBrowser(req.headers.cookie, accountId);
    if (remembered !== undefined) res.append("set-cookie", remembered);
    res.append("set-cookie", await sessions.open(browser, accountId)).redirect(303, place);
    return;
  }
  await guard.record(partyAt(req.ip));
  const pending = await signIn.pending(browser.secret);
  if (pending !== undefined) {
    const refused = refuseForm(codeForm, req, { code: WRONG_CODE });
    return show(res, codePage(context, { req, browser, place, ...pending, refused }));
  }
  const refused = refuseForm(addressForm, req, { email: NO_CODE });
  show(res, addressPage(context, { req, browser, place, email: before?.email, refused }));
}

/** A request for one of the two pages. */
interface SignInVisit {
  readonly req: Request;
  readonly browser: Browser;
  /** Path to which the person returns. */
  readonly place: string;
  readonly refused?: Refused;
}

/** The page that asks for the address to which a code is sent. */
function addressPage(
  { upstream, isMailShownToOperator, signUp, codeOnPage }: PageContext,
  {
    req,
    browser: { formToken },
    place,
    email,
    refused,
  }: SignInVisit & { readonly email?: string | undefined },
): PageAnswer {
  const byOthers = isMailShownToOperator
    ? "from the operator of this service, which sends no mail"
    : "by email";
  const giver = codeOnPage?.isShownTo(req)
    ? "on the next page, because this is a sandbox on your machine"
    : byOthers;
  const hidden = { return_to: place };
  return {
    place: "account",
    isSignedIn: false,
    heading: "Sign in",
    errors: refused?.errors,
    body: html`<p class="lead">You get a code ${giver}. There is no password.</p>
${signUpNotes[signUp]}
${reason(place, signUp)}
<div class="card">
${showForm(addressForm, { action: "/sign-in", formToken, hidden, values: { email }, refused }, html`<button>Send me a code</button>`)}
${
  upstream !== undefined &&
  html`<p class="or">or</p>
${providerButton(upstream.name, formToken, place)}`
}
</div>`,
  };
}

/** A hint for a person who runs the service, since SIGN_UP explains itself to nobody else. */
const operatorHint = html` If you operate this service, <code>SIGN_UP</code> decides who gets one.`;

/** Notes by sign-up mode: who gets a code if not everyone does, and what other people can do. */
const signUpNotes: Readonly<Record<SignUpMode, Html | undefined>> = {
  open: undefined,
  applications: html`<p class="note">Only people who have an account, or whose application was accepted, get a code here. If you have neither, <a href="${paths.apply}">apply for early access</a>.${operatorHint}</p>`,
  closed: html`<p class="note">Only people who have an account get a code here: no new accounts are created. If you need one, <a href="${paths.contactPage}">ask the operator of this service</a>.${operatorHint}</p>`,
};

/** For a person without an account, who cannot claim an agent before its code has expired. */
const claimLater = html`<p class="note">Without an account you cannot claim an agent yet. Once you have one, ask the agent for a new code: the present one will have expired.</p>
`;

/** Text that says why a person must sign in, depending on the return target. */
function reason(place: string, signUp: SignUpMode): Html | undefined {
  if (place.startsWith("/claim")) {
    return html`${signUp !== "open" && claimLater}<p class="note">To claim an agent, sign in now, even if you did today, so that nobody else who uses this browser can do it in your name.</p>`;
  }
  if (place.startsWith("/oauth/")) {
    return html`<p class="note">An application wants to act for you. Sign in first; then you see what it asks for, and decide.</p>`;
  }
  return undefined;
}

/** Texts that depend on how the code is delivered. */
interface DeliveryTexts {
  readonly sent: string;
  readonly hint?: Html;
  readonly label: string;
  readonly missing: string;
  /** Where else a person goes who gets no code. */
  readonly otherwise?: Html;
}

const byMail: DeliveryTexts = {
  sent: "a code is on its way",
  label: "Code from the email",
  missing: "No message? Check the spam folder, or",
  otherwise: html`<p class="note">A mailbox that wants no more mail from here gets no code either. Open the link at the end of any earlier email with a code in this browser, and choose to sign in at it. Do you have no such email? <a href="${paths.contactPage}">Ask for help</a>.</p>`,
};

const byOperator: DeliveryTexts = {
  sent: "there is a code for you",
  hint: html`<p class="note">This service sends no mail yet, so its operator has the code: ask them for it. If that is you, it stands on the terminal of the service, and <code>npx --no-install market-signal admin mail</code> shows it.</p>`,
  label: "Code from the operator",
  missing: "No code? You can",
};

const onPage: DeliveryTexts = {
  sent: "the code below is yours",
  hint: html`<p class="note">The code stands here because this is a sandbox on your machine, which sends no mail.</p>`,
  label: "Code",
  missing: "You can",
};

/** The code that the page asks for; `code` is absent unless the page may show it. */
interface PendingCode {
  readonly email: string;
  readonly code?: string | undefined;
}

/** The page that asks for the code. Its text does not reveal whether the address can sign in. */
function codePage(
  { isMailShownToOperator, signUp }: PageContext,
  { browser: { formToken }, place, email, code, refused }: SignInVisit & PendingCode,
): PageAnswer {
  const byOthers = isMailShownToOperator ? byOperator : byMail;
  const { sent, hint, label, missing, otherwise } = code === undefined ? byOthers : onPage;
  const hidden = { return_to: place };
  return {
    isSignedIn: false,
    heading: "Enter the code",
    errors: refused?.errors,
    body: html`<p class="lead">If <strong>${untrustedText(email)}</strong> can sign in, ${sent}.</p>
${signUpNotes[signUp]}
${hint}
<div class="card">
${showForm(codeForm, { action: "/sign-in/code", formToken, hidden, values: { code }, refused, vary: { code: { label } } }, html`<button>Sign in</button>`)}
</div>
<p>${missing} <a href="${withReturnPath("/sign-in", place)}">ask for another code</a>.</p>
${otherwise}`,
  };
}
