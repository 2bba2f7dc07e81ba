import type { PageAnswer } from "./answer.ts";
import { errorSummary, type FieldErrors, field, form, stranger } from "./elements.ts";
import { type Html, html } from "./html.ts";
import { withReturn } from "./return-to.ts";

/** What the page for the code shows. */
export interface CodeView {
  readonly formToken: string;
  readonly place: string;
  /** Where the code was sent to, if it was. */
  readonly email: string | undefined;
  readonly errors?: FieldErrors;
  /** Whether messages wait for the operator of this service instead of being sent. */
  readonly mailHint: boolean;
}

/** The words are the same whether the address can sign in or not. */
function sent(email: string | undefined): Html {
  if (email === undefined) {
    return html`<p class="lead">If your address can sign in, a code is on its way.</p>`;
  }
  return html`<p class="lead">If <strong>${stranger(email)}</strong> can sign in, a code is on its way.</p>`;
}

const operatorHint = html`<p class="note">This service sends no mail. Its operator finds the code on the terminal where the service runs, or by <code>npm run admin -- mail</code>.</p>`;

/** Page to type the code. */
export function codePage({ formToken, place, email, errors = [], mailHint }: CodeView): PageAnswer {
  const focus = errors.length === 0 && html` autofocus`;
  return {
    status: errors.length > 0 ? 400 : 200,
    heading: "Type the code",
    hasErrors: errors.length > 0,
    body: html`${errorSummary(errors)}
${sent(email)}
${mailHint && operatorHint}
<div class="card">
${form(
  { action: "/sign-in/code", formToken, hidden: { return_to: place } },
  html`${field({
    id: "code",
    label: "Code from the e-mail",
    hint: "It works in this browser only.",
    errors,
    attributes: html`class="code" type="text" inputmode="numeric" autocomplete="one-time-code" spellcheck="false" required maxlength="20"${focus}`,
  })}
<button>Sign in</button>`,
)}
</div>
<p>No message? Look into the spam folder, or <a href="${withReturn("/sign-in", place)}">ask for another code</a>.</p>`,
  };
}
