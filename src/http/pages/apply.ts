import { paths } from "../../lib/paths.ts";
import { type Html, html } from "../../markup/html.ts";
import type { QueueTokenAccess } from "../../principals/applications/intake.ts";
import {
  APPLICATION_RETENTION_MS,
  applicantFocuses,
} from "../../principals/applications/intake-records.ts";
import { copyButton, copyScriptHref } from "./copy.ts";
import {
  descriptionList,
  type FieldErrors,
  field,
  form,
  scopeList,
  timeElement,
  untrustedText,
} from "./elements.ts";
import type { PageAnswer } from "./page-answer.ts";

const DAY_MS = 86_400_000;

/** Labels of the options of `focus`. */
const focusNames: Readonly<Record<(typeof applicantFocuses)[number], string>> = {
  retail: "A private investor",
  quant: "A quantitative researcher or developer",
  fund: "A fund or another institution",
  general: "Other",
};

/** Data for the page to apply for early access. */
export interface ApplyView {
  readonly formToken: string;
  readonly isSignedIn: boolean;
  /** The entered name, which is shown again if the form had errors. */
  readonly name?: string | undefined;
  readonly email?: string | undefined;
  /** The selected option of `focus`. */
  readonly focus?: string | undefined;
  readonly errors?: FieldErrors;
}

/** The page to apply for early access. */
export function applyPage(view: ApplyView): PageAnswer {
  const { formToken, isSignedIn, errors = [] } = view;
  return {
    heading: "Apply for early access",
    errors,
    isSignedIn,
    body: html`<p class="lead">An application reserves a seat in the queue. The operator of this service decides who gets in and tells you; then you can sign in with this address.</p>
<div class="card">${form({ action: paths.apply, formToken }, applicationFields(view))}</div>
<p class="quiet">An application that is not accepted is deleted after ${APPLICATION_RETENTION_MS / DAY_MS} days.</p>`,
  };
}

function applicationFields({ name, email, focus = "", errors = [] }: ApplyView): Html {
  return html`${field({
    id: "name",
    label: "Your name",
    hint: "Of a person or an organization.",
    value: name,
    errors,
    attributes: html`type="text" autocomplete="name" required`,
  })}
${field({
  id: "email",
  label: "Your email address",
  hint: "Only the first application of an address counts.",
  value: email,
  errors,
  attributes: html`type="email" autocomplete="email" required maxlength="254"`,
})}
<fieldset>
<legend>Who you are</legend>
${[...applicantFocuses, ""].map((one, at) => choice(one, { at, isChosen: one === focus }))}
</fieldset>
<button>Apply</button>`;
}

/** A radio button. The first one has the field name as its id, so that the error summary can link
 *  to it. */
function choice(focus: string, { at, isChosen }: { at: number; isChosen: boolean }): Html {
  const id = at === 0 ? "focus" : `focus-${at}`;
  const label =
    focus in focusNames ? focusNames[focus as keyof typeof focusNames] : "I would rather not say";
  return html`<div class="choice">
<input type="radio" id="${id}" name="focus" value="${focus}"${isChosen && html` checked`}>
<label for="${id}">${label}</label>
</div>`;
}

/** Data for the confirmation of an application for early access. */
export interface QueuePlaceView {
  readonly isSignedIn: boolean;
  readonly queueToken: string;
  readonly name: string;
  readonly email: string;
  readonly focus: (typeof applicantFocuses)[number] | undefined;
  /** Time of registration, in milliseconds since the epoch. */
  readonly registeredAt: number;
  /** Properties of the queue token as an API key; `undefined` if it is not an API key. */
  readonly key: QueueTokenAccess | undefined;
}

/** The page that shows the queue token; the token is shown only once. */
export function queuePlacePage(view: QueuePlaceView): PageAnswer {
  const { isSignedIn, queueToken, name, email, focus, registeredAt, key } = view;
  return {
    heading: "Your seat is reserved",
    scriptPath: copyScriptHref,
    isSignedIn,
    body: html`<p class="lead">This is your queue token. Copy it now: it is shown this once and never again.</p>
<p class="secret"><code id="token">${queueToken}</code></p>
<p class="buttons">${copyButton("token", "the token")}</p>
<p>It identifies your application to the operator of this service: give it when you ask about it.</p>
<p>The operator decides and tells you. Once you are accepted, sign in with this address; an agent of yours then needs a new claim code.</p>
<p>An address has one application, its first. If yours had applied before, that application is kept as it was, and this token stands for it.</p>
${key && keyText(key)}
<div class="card">${descriptionList([
      ["Name", untrustedText(name)],
      ["Email address", untrustedText(email)],
      focus !== undefined && ["Who you are", focusNames[focus]],
      ["Received", timeElement(registeredAt)],
    ])}</div>`,
  };
}

const keyText = ({ scopes, expiresAt }: QueueTokenAccess): Html => html`<section>
<h2>Try the interface with it</h2>
<p>Until ${timeElement(expiresAt)} it is an API key, too. Send it in the header <code>x-api-key</code>; <a href="/docs/api">the reference</a> lists the endpoints. It allows:</p>
${scopeList(scopes)}
<p>Keep it like a password.</p>
</section>`;
