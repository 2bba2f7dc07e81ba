import { CLAIM_CODE_MS } from "../../auth/agents/claim-code.ts";
import type { ClaimableAgent } from "../../auth/agents/claims.ts";
import type { Scope } from "../../auth/scopes.ts";
import {
  errorSummary,
  type FieldErrors,
  facts,
  field,
  form,
  type ScopeChoice,
  scopeChoice,
  scopeList,
  timeElement,
  untrustedText,
  unverifiedName,
} from "./elements.ts";
import { type Html, html } from "./html.ts";
import type { PageAnswer } from "./page-answer.ts";

/** Warns of phishing before the code is entered (RFC 8628 section 5.4). */
const warning = (bait: string): Html => html`<div class="note warning">
<h2>Only go on if you started this agent yourself</h2>
<p>Whoever sends you ${bait} wants you to answer for an agent of theirs. What it does is then done in your name.</p>
</div>`;

const ID_AND_CODE = "an agent’s id and code";

/** What the claim form shows. */
export interface ClaimFormView {
  readonly formToken: string;
  readonly agentId: string | undefined;
  readonly errors?: FieldErrors;
}

/** Page to enter the id of an agent and its code. */
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
  hint: `Letters and digits that the agent was given. They work for ${CLAIM_CODE_MS / 60_000} minutes.`,
  errors,
  attributes: code,
})}
<button>Look at the agent</button>`;
  return {
    status: errors.length > 0 ? 400 : 200,
    heading: "Claim an agent",
    hasErrors: errors.length > 0,
    isSignedIn: true,
    body: html`${errorSummary(errors)}
<p class="lead">When you claim an agent, you become responsible for it. The agent may then do what you allow, until you end it.</p>
${warning(ID_AND_CODE)}
<div class="card">
${form({ action: "/claim", formToken }, fields)}
</div>`,
  };
}

/** What a person decides on. */
export interface AgentView {
  readonly formToken: string;
  readonly agent: ClaimableAgent;
  /** Selected checkboxes. */
  readonly chosen: readonly string[];
  readonly errors?: FieldErrors;
}

/** The scopes that the page shows as held, for the form to send back: an agent can change its
 *  registration while the page is open. */
const heldField = ({ scopesNow }: ClaimableAgent): string => scopesNow.join(" ");

/** Page to review the agent that a code belongs to before claiming it. */
export function confirmPage(view: AgentView & { readonly code: string }): PageAnswer {
  const { formToken, agent, code } = view;
  const hidden = { agent_id: agent.agentId, code, held: heldField(agent) };
  return agentPage(view, {
    bait: ID_AND_CODE,
    form: { action: "/claim/confirm", formToken, hidden },
    button: "Answer for this agent",
  });
}

/** Page to review the agent that sent a person here, before the code for it is shown. */
export function approvePage(view: AgentView & { readonly attempt: string }): PageAnswer {
  const { formToken, agent, attempt } = view;
  const hidden = { attempt, held: heldField(agent) };
  return agentPage(view, {
    bait: "a link to this page",
    form: { action: "/claim/approve", formToken, hidden },
    button: "Agree and show me the code",
  });
}

interface Step {
  /** How a phishing victim would have been lured here. */
  readonly bait: string;
  readonly form: Parameters<typeof form>[0];
  readonly button: string;
}

/** Scopes that an agent gains by the claim; it keeps its present ones in any case. */
const givenByClaim = ({ scopesNow, scopesAfter }: ClaimableAgent): readonly Scope[] =>
  scopesAfter.filter((scope) => !scopesNow.includes(scope));

/** Whether a claim would give the agent nothing. */
export const grantsNothing = ({ scopesNow }: ClaimableAgent, chosen: readonly Scope[]): boolean =>
  scopesNow.length === 0 && chosen.length === 0;

function agentPage({ agent, chosen, errors = [] }: AgentView, step: Step): PageAnswer {
  const choice: ScopeChoice = {
    legend:
      agent.scopesNow.length > 0 ? "Further access after the claim" : "Access after the claim",
    offered: givenByClaim(agent),
    chosen: new Set(chosen),
    errors,
  };
  return {
    status: errors.length > 0 ? 400 : 200,
    heading: "Is this your agent?",
    hasErrors: errors.length > 0,
    isSignedIn: true,
    body: html`${errorSummary(errors)}
${warning(step.bait)}
<div class="card">
${facts([
  ["Agent", unverifiedName(agent.name)],
  ["Its id", html`<code>${untrustedText(agent.agentId)}</code>`],
  ["Registered", timeElement(agent.registeredAt)],
  ["Access now", scopeList(agent.scopesNow)],
])}
</div>
<div class="card">
${form(
  step.form,
  html`${scopeChoice(choice)}
<div class="buttons">
<button>${step.button}</button>
<a class="second" href="/account">Cancel</a>
</div>`,
)}
</div>`,
  };
}

const howToEnd = html`<p>You can end it at any time: on <a href="/account">your account page</a>, remove the agent.</p>`;

/** Page after a claim. */
export function claimedPage({
  agentId,
  scopes,
}: {
  readonly agentId: string;
  readonly scopes: readonly Scope[];
}): PageAnswer {
  return donePage(
    "You answer for this agent now",
    html`<div class="card">
${facts([
  ["Its id", html`<code>${untrustedText(agentId)}</code>`],
  ["Access", scopeList(scopes)],
])}
</div>
<p>All tokens that the agent had until now have ended. It gets new ones by itself.</p>
${howToEnd}
<p class="buttons"><a class="main" href="/account">Go to your account</a></p>`,
  );
}

/** Page with the code that a person gives to the agent. */
export function shownCodePage(code: string): PageAnswer {
  return donePage(
    "Give this code to your agent",
    html`<p class="lead">The claim is complete as soon as the agent has used it.</p>
<p class="secret code-shown"><code>${code}</code></p>
<p>It works once, for this agent only, and as long as the link that brought you here. Do not give it to anybody else, and close this page when the agent has it.</p>
${howToEnd}`,
  );
}

/** Page for a link that is invalid or expired. */
export const noAttemptPage: PageAnswer = {
  status: 400,
  heading: "This link does not work any more",
  isSignedIn: true,
  body: html`<p class="lead">It was used already, took too long, or is not complete.</p>
<p>Ask your agent for a new one.</p>`,
};

/** Page for a person whom the agent did not name. */
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
