import type { Scope } from "../../access/scopes.ts";
import { type Html, html } from "../../markup/html.ts";
import { CLAIM_CODE_LIFETIME_MS } from "../../principals/agents/claim-code.ts";
import type { ClaimableAgent } from "../../principals/agents/claims.ts";
import { copyButton, copyScriptHref } from "./copy.ts";
import {
  descriptionList,
  type FieldErrors,
  field,
  form,
  type ScopeFieldset,
  scopeFieldset,
  scopeList,
  timeElement,
  untrustedText,
  unverifiedName,
} from "./elements.ts";
import type { PageAnswer } from "./page-answer.ts";

/** A warning about phishing, shown before the code is entered (RFC 8628 section 5.4). */
const warning = (bait: string): Html => html`<div class="note warning">
<h2>Continue only if you started this agent yourself</h2>
<p>Whoever sends you ${bait} wants you to take responsibility for their agent. What it does is then done in your name.</p>
</div>`;

const ID_AND_CODE = "an agent’s id and code";

/** Data for the claim form. */
export interface ClaimFormView {
  readonly formToken: string;
  readonly agentId: string | undefined;
  readonly errors?: FieldErrors;
}

/** The page with the form for the id and code of an agent. */
export function claimFormPage({ formToken, agentId, errors = [] }: ClaimFormView): PageAnswer {
  const machine = html`type="text" autocomplete="off" autocapitalize="none" spellcheck="false" required`;
  const code = html`class="code" type="text" autocomplete="off" autocapitalize="characters" spellcheck="false" required maxlength="64"`;
  const fields = html`${field({
    id: "agent_id",
    label: "Id of the agent",
    hint: "The agent knows it as its client_id.",
    value: agentId,
    errors,
    attributes: html`${machine} maxlength="200"`,
  })}
${field({
  id: "code",
  label: "Claim code",
  hint: `Letters and digits that the agent was given. They work for ${CLAIM_CODE_LIFETIME_MS / 60_000} minutes.`,
  errors,
  attributes: code,
})}
<button>Review the agent</button>`;
  return {
    heading: "Claim an agent",
    errors,
    isSignedIn: true,
    body: html`<p class="lead">When you claim an agent, you become responsible for it. The agent may then do what you allow, until you end it.</p>
${warning(ID_AND_CODE)}
<div class="card">
${form({ action: "/claim", formToken }, fields)}
</div>`,
  };
}

/** The agent that a person may claim, and the state of the form. */
export interface ClaimDecisionView {
  readonly formToken: string;
  readonly agent: ClaimableAgent;
  /** Values of the selected checkboxes. */
  readonly chosen: readonly string[];
  readonly errors?: FieldErrors;
}

/**
 * Value of a hidden field: the scopes that the page shows as the agent's current ones. The form
 * sends them back, because an agent can change its registration while the page is open.
 */
const heldField = ({ scopesNow }: ClaimableAgent): string => scopesNow.join(" ");

/** The page on which a person reviews the agent to which a code belongs, before claiming it. */
export function claimConfirmPage(view: ClaimDecisionView & { readonly code: string }): PageAnswer {
  const { formToken, agent, code } = view;
  const hidden = { agent_id: agent.agentId, code, held: heldField(agent) };
  return agentPage(view, {
    bait: ID_AND_CODE,
    form: { action: "/claim/confirm", formToken, hidden },
    button: "Claim this agent",
  });
}

/**
 * The page on which a person who opened an agent's link reviews the agent, before the code for it
 * is shown.
 */
export function claimApprovePage(
  view: ClaimDecisionView & { readonly attempt: string },
): PageAnswer {
  const { formToken, agent, attempt } = view;
  const hidden = { attempt, held: heldField(agent) };
  return agentPage(view, {
    bait: "a link to this page",
    form: { action: "/claim/approve", formToken, hidden },
    button: "Agree and show me the code",
  });
}

interface ReviewStep {
  /** What a phishing attacker would send to the person, such as "a link to this page". */
  readonly bait: string;
  readonly form: Parameters<typeof form>[0];
  readonly button: string;
}

/** Scopes that an agent gains by the claim. The agent keeps its current scopes in any case. */
const addedScopes = ({ scopesNow, scopesAfter }: ClaimableAgent): readonly Scope[] =>
  scopesAfter.filter((scope) => !scopesNow.includes(scope));

/** Whether an agent would have no scope after the claim. */
export const grantsNoScope = ({ scopesNow }: ClaimableAgent, chosen: readonly Scope[]): boolean =>
  scopesNow.length === 0 && chosen.length === 0;

function agentPage(
  { agent, chosen, errors = [] }: ClaimDecisionView,
  step: ReviewStep,
): PageAnswer {
  const choice: ScopeFieldset = {
    legend:
      agent.scopesNow.length > 0 ? "Further access after the claim" : "Access after the claim",
    offered: addedScopes(agent),
    chosen: new Set(chosen),
    errors,
  };
  return {
    heading: "Is this your agent?",
    errors,
    isSignedIn: true,
    body: html`${warning(step.bait)}
<div class="card">
${descriptionList([
  ["Agent", unverifiedName(agent.name)],
  ["Its id", html`<code>${untrustedText(agent.agentId)}</code>`],
  ["Registered", timeElement(agent.registeredAt)],
  ["Access now", scopeList(agent.scopesNow)],
])}
</div>
<div class="card">
${form(
  step.form,
  html`${scopeFieldset(choice)}
<div class="buttons">
<button>${step.button}</button>
<a class="second" href="/account">Cancel</a>
</div>`,
)}
</div>`,
  };
}

const howToRemove = html`<p>You can end it at any time: on <a href="/account">your account page</a>, remove the agent.</p>`;

/** The page shown after a claim. */
export function claimedPage({
  agentId,
  scopes,
}: {
  readonly agentId: string;
  readonly scopes: readonly Scope[];
}): PageAnswer {
  return donePage(
    "You have claimed this agent",
    html`<div class="card">
${descriptionList([
  ["Its id", html`<code>${untrustedText(agentId)}</code>`],
  ["Access", scopeList(scopes)],
])}
</div>
<p>All earlier tokens of the agent have been revoked. It gets new ones by itself.</p>
${howToRemove}
<p class="buttons"><a class="main" href="/account">Go to your account</a></p>`,
  );
}

/** The page with the code that a person gives to the agent. */
export function claimCodePage(code: string): PageAnswer {
  const page = donePage(
    "Give this code to your agent",
    html`<p class="lead">The claim is complete as soon as the agent has used it.</p>
<p class="secret code-shown"><code id="claim-code">${code}</code></p>
<p class="buttons">${copyButton("claim-code", "the code")}</p>
<p>It works once, for this agent only, and as long as the link that brought you here. Do not give it to anybody else, and close this page once the agent has it.</p>
${howToRemove}`,
  );
  return { ...page, scriptPath: copyScriptHref };
}

/** The page for a link that is invalid or expired. */
export const invalidClaimLinkPage: PageAnswer = {
  status: 400,
  heading: "This link is no longer valid",
  isSignedIn: true,
  body: html`<p class="lead">It was already used, has expired, or is incomplete.</p>
<p>Ask your agent for a new one.</p>`,
};

/**
 * The page shown when the agent specified the email address of a person other than the one who is
 * signed in.
 */
export const wrongAccountPage = (person: string): PageAnswer => ({
  status: 403,
  heading: "This agent is waiting for another person",
  isSignedIn: true,
  body: html`<p class="lead">It named another email address than that of <strong>${untrustedText(person)}</strong>.</p>
<p>If that address is yours too, sign out on <a href="/account">your account page</a> and sign in with it. Otherwise, there is nothing for you to do here.</p>`,
});

function donePage(heading: string, body: Html): PageAnswer {
  return { heading, isSignedIn: true, body };
}
