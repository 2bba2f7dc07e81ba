import { allScopes, anonymousScopeCeiling } from "../../access/scopes.ts";
import { type Html, html } from "../../markup/html.ts";
import { type ApiKey, MAX_API_KEYS_PER_ACCOUNT } from "../../principals/keys/api-keys.ts";
import { copyButton, copyScriptHref } from "./copy.ts";
import {
  descriptionList,
  destructiveAction,
  type FieldErrors,
  field,
  form,
  lastUseText,
  scopeFieldset,
  scopeLabels,
  timeElement,
  untrustedText,
} from "./elements.ts";
import type { PageAnswer } from "./page-answer.ts";

/** Maximum length of the name of an API key, in characters. */
export const MAX_KEY_NAME_LENGTH = 60;

/** Data for the section with the API keys. */
export interface KeysView {
  readonly formToken: string;
  readonly keys: readonly ApiKey[];
  /** Errors of the form that creates a key. */
  readonly errors?: FieldErrors;
  /** The name entered for a new key. */
  readonly keyName?: string | undefined;
}

/** Renders the API keys of a person and the form that creates an API key. */
export function keysSection(view: KeysView): Html {
  const { keys, formToken } = view;
  return html`<p>A key lets a program of yours read signals without signing in. You can have ${MAX_API_KEYS_PER_ACCOUNT}.</p>
${keys.length > 0 && html`<ul class="cards">${keys.map((key) => keyCard(key, formToken))}</ul>`}
${keys.length < MAX_API_KEYS_PER_ACCOUNT ? newKeyForm(view) : full}`;
}

const full = html`<p class="note">You have ${MAX_API_KEYS_PER_ACCOUNT} keys, which is the maximum. Revoke one to create another.</p>`;

function keyCard(key: ApiKey, formToken: string): Html {
  return html`<li class="card">
<h3>${untrustedText(key.name)}</h3>
${descriptionList([
  ["Begins with", html`<code>${key.hint}…</code>`],
  ["Access", scopeLabels(key.scopes)],
  ["Created", timeElement(key.createdAt)],
  ["Last use", lastUseText(key.lastUsedAt, key.createdAt)],
  key.expiresAt !== undefined && ["Ends", timeElement(key.expiresAt)],
])}
${destructiveAction({
  action: `/account/keys/${encodeURIComponent(key.id)}/revoke`,
  formToken,
  summary: "Revoke this key",
  consequence: "Programs that use it are refused at once. This cannot be undone.",
  button: "Revoke key for good",
})}
</li>`;
}

function newKeyForm({ formToken, errors = [], keyName }: KeysView): Html {
  const name = field({
    id: "name",
    label: "What is it for?",
    hint: "A name for you to know it by, such as: notebook at home.",
    value: keyName,
    errors,
    attributes: html`type="text" autocomplete="off" required maxlength="${MAX_KEY_NAME_LENGTH}"`,
  });
  const choice = scopeFieldset({
    legend: "Access",
    offered: allScopes,
    chosen: new Set<string>(anonymousScopeCeiling),
    errors,
  });
  return html`<div class="card"><h3>Create a key</h3>
${form({ action: "/account/keys", formToken }, html`${name}${choice}<button>Create key</button>`)}
</div>`;
}

/** The page that shows a new API key; the key is shown only once. */
export function newKeyPage({
  name,
  key,
}: {
  readonly name: string;
  readonly key: string;
}): PageAnswer {
  return {
    heading: "Your new key",
    scriptPath: copyScriptHref,
    place: "account",
    isSignedIn: true,
    body: html`<p class="lead">This is the key for <strong>${untrustedText(name)}</strong>. Copy it now: it is shown this once and never again.</p>
<p class="secret"><code id="key">${key}</code></p>
<p>Send it in the header <code>x-api-key</code>. Keep it secret like a password: anyone who has it can use it.</p>
<p class="buttons">${copyButton("key", "the key")}<a class="main" href="/account">I have saved it</a></p>`,
  };
}
