import type { SignUpMode } from "../../access/sign-up-mode.ts";
import { paths } from "../../lib/paths.ts";
import { type Html, html } from "../../markup/html.ts";
import { type FieldErrors, field, form } from "./elements.ts";
import type { PageAnswer } from "./page-answer.ts";

/** Data for the sign-in page. */
export interface SignInView {
  readonly formToken: string;
  readonly place: string;
  /** Initial value of the email field. */
  readonly email: string | undefined;
  readonly errors?: FieldErrors;
  /** Host of the external identity provider; `undefined` if there is none. */
  readonly upstream: string | undefined;
  /** Whether emails are shown to the operator instead of being sent. */
  readonly isMailShownToOperator: boolean;
  /** Whether the next page shows the code. */
  readonly isCodeShown: boolean;
  readonly signUp: SignUpMode;
}

/** A hint for a person who runs the service, since SIGN_UP explains itself to nobody else. */
const operatorHint = html` If you operate this service, <code>SIGN_UP</code> decides who gets one.`;

/** Notes by sign-up mode: who gets a code if not everyone does, and what other people can do. */
export const signInCodeNotes: Readonly<Record<SignUpMode, Html | undefined>> = {
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

/** The page with the form that requests a sign-in code. */
export function signInPage({
  formToken,
  place,
  email,
  errors = [],
  upstream,
  isMailShownToOperator,
  isCodeShown,
  signUp,
}: SignInView): PageAnswer {
  const byOthers = isMailShownToOperator
    ? "from the operator of this service, which sends no mail"
    : "by email";
  const giver = isCodeShown
    ? "on the next page, because this is a sandbox on your machine"
    : byOthers;
  const hidden = { return_to: place };
  const byProvider = html`<p class="or">or</p>
${form({ action: "/sign-in/provider", formToken, hidden }, html`<button class="second">Sign in with ${upstream}</button>`)}`;
  return {
    place: "account",
    isSignedIn: false,
    heading: "Sign in",
    errors,
    body: html`<p class="lead">You get a code ${giver}. There is no password.</p>
${signInCodeNotes[signUp]}
${reason(place, signUp)}
<div class="card">
${form(
  { action: "/sign-in", formToken, hidden },
  html`${field({
    id: "email",
    label: "Your email address",
    value: email,
    errors,
    attributes: html`type="email" autocomplete="email" required maxlength="254"`,
  })}
<button>Send me a code</button>`,
)}
${upstream !== undefined && byProvider}
</div>`,
  };
}
