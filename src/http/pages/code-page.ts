import type { SignUpMode } from "../../access/sign-up-mode.ts";
import { paths } from "../../lib/paths.ts";
import { type Html, html } from "../../markup/html.ts";
import { type FieldErrors, field, form, untrustedText } from "./elements.ts";
import type { PageAnswer } from "./page-answer.ts";
import { withReturnPath } from "./return-to.ts";
import { signInCodeNotes } from "./sign-in.ts";

/** Data for the code page. */
export interface SignInCodeView {
  readonly formToken: string;
  readonly place: string;
  /** Email address for which the code was requested. */
  readonly email: string;
  readonly errors?: FieldErrors;
  /** Whether emails are shown to the operator instead of being sent. */
  readonly isMailShownToOperator: boolean;
  /** The code itself, if the page may show it. */
  readonly code?: string | undefined;
  readonly signUp: SignUpMode;
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

/**
 * The page with the form for the sign-in code. Its text does not reveal whether the address can
 * sign in.
 */
export function signInCodePage({
  formToken,
  place,
  email,
  errors = [],
  isMailShownToOperator,
  code,
  signUp,
}: SignInCodeView): PageAnswer {
  const byOthers = isMailShownToOperator ? byOperator : byMail;
  const { sent, hint, label, missing, otherwise } = code === undefined ? byOthers : onPage;
  const focus = errors.length === 0 && html` autofocus`;
  return {
    isSignedIn: false,
    heading: "Enter the code",
    errors,
    body: html`<p class="lead">If <strong>${untrustedText(email)}</strong> can sign in, ${sent}.</p>
${signInCodeNotes[signUp]}
${hint}
<div class="card">
${form(
  { action: "/sign-in/code", formToken, hidden: { return_to: place } },
  html`${field({
    id: "code",
    label,
    hint: "It works in this browser only.",
    value: code,
    errors,
    attributes: html`class="code" type="text" inputmode="numeric" autocomplete="one-time-code" spellcheck="false" required maxlength="20"${focus}`,
  })}
<button>Sign in</button>`,
)}
</div>
<p>${missing} <a href="${withReturnPath("/sign-in", place)}">ask for another code</a>.</p>
${otherwise}`,
  };
}
