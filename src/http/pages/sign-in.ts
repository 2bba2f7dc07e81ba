import { paths } from "../../../wellknown/paths.ts";
import type { SignUpMode } from "../../config/config.ts";
import { APPLY_PATH } from "./apply.ts";
import { type FieldErrors, field, form } from "./elements.ts";
import { type Html, html } from "./html.ts";
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
  readonly signUp: SignUpMode;
}

/** Notes by sign-up mode: who gets a code if not everyone does, and what other people can do. */
export const signInCodeNotes: Readonly<Record<SignUpMode, Html | undefined>> = {
  open: undefined,
  applications: html`<p class="note">Only people who have an account, or whose application was accepted, get a code here. If you have neither, <a href="${APPLY_PATH}">apply for early access</a>.</p>`,
  closed: html`<p class="note">Only people who have an account get a code here: no new accounts are created. If you need one, <a href="${paths.contactPage}">ask the operator of this service</a>.</p>`,
};

/** Text that says why a person must sign in, depending on the return target. */
function reason(place: string): Html | undefined {
  if (place.startsWith("/claim")) {
    return html`<p class="note">To claim an agent, sign in now, even if you did today, so that nobody else who uses this browser can do it in your name.</p>`;
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
  signUp,
}: SignInView): PageAnswer {
  const giver = isMailShownToOperator
    ? "from the operator of this service, which sends no mail"
    : "by email";
  const hidden = { return_to: place };
  const byProvider = html`<p class="or">or</p>
${form({ action: "/sign-in/provider", formToken, hidden }, html`<button class="second">Sign in with ${upstream}</button>`)}`;
  return {
    place: "account",
    heading: "Sign in",
    errors,
    body: html`<p class="lead">You get a code ${giver}. There is no password.</p>
${signInCodeNotes[signUp]}
${reason(place)}
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
