import { paths } from "../../lib/paths.ts";
import { html } from "../../markup/html.ts";
import { INQUIRY_RETENTION_MS } from "../../principals/applications/intake-records.ts";
import {
  descriptionList,
  type FieldErrors,
  field,
  form,
  textArea,
  timeElement,
} from "./elements.ts";
import type { PageAnswer } from "./page-answer.ts";

const DAY_MS = 86_400_000;

/** Data for the contact page. */
export interface ContactView {
  readonly formToken: string;
  readonly isSignedIn: boolean;
  /** The entered email address, which is shown again if the form had errors. */
  readonly email?: string | undefined;
  readonly message?: string | undefined;
  readonly errors?: FieldErrors;
}

/** The page to contact the operator of the service. */
export function contactPage(view: ContactView): PageAnswer {
  const { formToken, isSignedIn, email, message, errors = [] } = view;
  const fields = html`${field({
    id: "email",
    label: "Your email address",
    hint: "The operator answers to this address.",
    value: email,
    errors,
    attributes: html`type="email" autocomplete="email" required maxlength="254"`,
  })}
${textArea({
  id: "message",
  label: "Your message",
  value: message,
  errors,
  attributes: html`rows="8" required`,
})}
<button>Send message</button>`;
  return {
    heading: "Contact",
    errors,
    isSignedIn,
    body: html`<p class="lead">Write to the operator of this service: a question, a request, or a vulnerability that you found.</p>
<div class="card">${form({ action: paths.contactPage, formToken }, fields)}</div>
<p class="quiet">What you send is kept for ${INQUIRY_RETENTION_MS / DAY_MS} days and then deleted.</p>`,
  };
}

/**
 * The contact page as Markdown, for agents.
 *
 * @param baseUrl Public origin, without a trailing slash.
 */
export const contactMarkdown = (baseUrl: string): string => `# Contact

Write to the operator of this service: a question, a request, or a vulnerability that you found.

- A program sends \`POST ${baseUrl}${paths.contact}\` with \`{"email": "name@host.example", "message": "..."}\`: the address where an answer reaches you, and the message. It needs no credential.
- A person opens ${baseUrl}${paths.contactPage} in a browser.

What you send is kept for ${INQUIRY_RETENTION_MS / DAY_MS} days and then deleted.
`;

/** Data for the confirmation of an inquiry. */
export interface ContactSentView {
  readonly isSignedIn: boolean;
  readonly reference: string;
  /** Time at which the inquiry was received, in milliseconds since the epoch. */
  readonly receivedAt: number;
}

/** The page shown after an inquiry was sent. */
export function contactSentPage({
  isSignedIn,
  reference,
  receivedAt,
}: ContactSentView): PageAnswer {
  return {
    heading: "Your message was recorded",
    isSignedIn,
    body: html`<p class="lead">The operator of this service can read it now.</p>
<div class="card">${descriptionList([
      ["Reference", html`<code>${reference}</code>`],
      ["Received", timeElement(receivedAt)],
    ])}</div>
<p>Give the reference when you write about it again.</p>`,
  };
}
