import { Router } from "express";
import { z } from "zod";
import { allScopes, anonymousScopeCeiling } from "../../access/scopes.ts";
import {
  hasActiveContent,
  hasVisibleCharacter,
  NO_ACTIVE_CONTENT_MESSAGE,
} from "../../lib/label.ts";
import { partyAt } from "../../limits/address-key.ts";
import { requireAdmission } from "../../limits/rate-limit-problem.ts";
import { type Html, html } from "../../markup/html.ts";
import { type ApiKey, MAX_API_KEYS_PER_ACCOUNT } from "../../principals/keys/api-keys.ts";
import { copyButton, copyScriptHref } from "./copy.ts";
import {
  descriptionList,
  lastUseText,
  scopeLabels,
  timeElement,
  untrustedText,
} from "./elements.ts";
import { createForm, type Refused, readForm } from "./form.ts";
import { destructiveAction, showForm } from "./form-html.ts";
import type { PageAnswer } from "./page-answer.ts";
import type { PageContext } from "./page-context.ts";
import { requiredScopesField, scopeOptions } from "./scopes-field.ts";
import { mountSignedInForm, type ShowAccount, type SignedInVisit } from "./signed-in.ts";

/** Maximum length of the name of an API key, in characters. */
const MAX_NAME_LENGTH = 60;

/** Matches control characters, lone surrogates, invisible characters and bidirectional controls. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/u;

const keyForm = createForm({
  name: {
    control: "input",
    label: "What is it for?",
    hint: "A name for you to know it by, such as: notebook at home.",
    type: "text",
    autocomplete: "off",
    isRequired: true,
    maxLength: MAX_NAME_LENGTH,
    schema: z
      .string("Give the key a name.")
      .normalize()
      .trim()
      .refine(hasVisibleCharacter, "Give the key a name.")
      .max(MAX_NAME_LENGTH, `The name has at most ${MAX_NAME_LENGTH} characters.`)
      .refine((name) => !UNPRINTABLE.test(name), "The name has characters that cannot be shown.")
      .refine((name) => !hasActiveContent(name), `The name ${NO_ACTIVE_CONTENT_MESSAGE}.`),
  },
  scope: { ...requiredScopesField, label: "Access", options: scopeOptions(allScopes) },
});

/**
 * The refusal of a new key beyond the limit. The page hides the form at the limit, but a window
 * opened earlier may still show it.
 */
const limitReached: Refused = {
  form: keyForm.id,
  values: {},
  errors: [
    {
      id: "keys",
      text: `You have ${MAX_API_KEYS_PER_ACCOUNT} keys already. Revoke one to create another.`,
    },
  ],
};

/** Routes that create and revoke the API keys of a person. */
export function keyRoutes(context: PageContext, showAccount: ShowAccount): Router {
  const { keys, limits } = context;
  const router = Router();
  mountSignedInForm(router, context, "/account/keys", (visit) =>
    createKey(visit, context, showAccount),
  );
  mountSignedInForm(router, context, "/account/keys/:id/revoke", async ({ req, res, account }) => {
    await requireAdmission(limits, "changes", partyAt(req.ip, account.id));
    await keys.revoke(String(req.params.id), account.id, account.id);
    res.redirect(303, "/account");
  });
  return router;
}

async function createKey(
  visit: SignedInVisit,
  { limits, keys, show }: PageContext,
  showAccount: ShowAccount,
): Promise<void> {
  const { req, res, account } = visit;
  const { data, refused } = readForm(keyForm, req);
  if (refused !== undefined) return showAccount(visit, refused);
  const { name, scope: scopes } = data;
  await requireAdmission(limits, "changes", partyAt(req.ip, account.id));
  const made = await keys.createFor(account.id, { name, scopes });
  if (made === undefined) return showAccount(visit, limitReached);
  show(res, newKeyPage(name, made.key));
}

/** Data for the section with the API keys. */
export interface KeysView {
  readonly formToken: string;
  readonly keys: readonly ApiKey[];
  readonly refused: Refused | undefined;
}

/** Renders the API keys of a person and the form that creates an API key. */
export function keysSection(view: KeysView): Html {
  const { keys, formToken } = view;
  return html`<p>A key lets a program of yours read signals without signing in. You can have ${MAX_API_KEYS_PER_ACCOUNT}.</p>
${keys.length > 0 && html`<ul class="cards">${keys.map((key) => keyCard(key, formToken))}</ul>`}
${keys.length < MAX_API_KEYS_PER_ACCOUNT ? newKeyCard(view) : full}`;
}

const full = html`<p class="note">You have ${MAX_API_KEYS_PER_ACCOUNT} keys, which is the maximum. Revoke one to create another.</p>`;

const newKeyCard = ({ formToken, refused }: KeysView): Html =>
  html`<div class="card"><h3>Create a key</h3>
${showForm(
  keyForm,
  {
    action: "/account/keys",
    formToken,
    values: { scope: anonymousScopeCeiling },
    refused,
  },
  html`<button>Create key</button>`,
)}
</div>`;

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

/** The page that shows a new API key; the key is shown only once. */
const newKeyPage = (name: string, key: string): PageAnswer => ({
  heading: "Your new key",
  scriptPath: copyScriptHref,
  place: "account",
  isSignedIn: true,
  body: html`<p class="lead">This is the key for <strong>${untrustedText(name)}</strong>. Copy it now: it is shown this once and never again.</p>
<p class="secret"><code id="key">${key}</code></p>
<p>Send it in the header <code>x-api-key</code>. Keep it secret like a password: anyone who has it can use it.</p>
<p class="buttons">${copyButton("key", "the key")}<a class="main" href="/account">I have saved it</a></p>`,
});
