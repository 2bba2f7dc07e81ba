import type { Scope } from "../../access/scopes.ts";
import { type Html, html } from "../../markup/html.ts";
import type { ClaimableAgent } from "../../principals/agents/claims.ts";
import {
  descriptionList,
  scopeList,
  timeElement,
  untrustedText,
  unverifiedName,
} from "./elements.ts";
import { createForm, type Refused } from "./form.ts";
import { showForm } from "./form-html.ts";
import type { PageAnswer } from "./page-answer.ts";
import { scopeOptions, scopesField } from "./scopes-field.ts";

/** The form in which a person decides what an agent may do after its claim. */
export const reviewForm = createForm({ scope: scopesField });

/** The review of an agent before its claim. */
interface ReviewView {
  readonly agent: ClaimableAgent;
  readonly formToken: string;
  readonly refused: Refused | undefined;
  readonly action: string;
  /** What identifies the agent in the next step, as hidden fields. */
  readonly hidden: Readonly<Record<string, string>>;
  /** What a phishing attacker would send to the person, such as "a link to this page". */
  readonly bait: string;
  readonly button: string;
}

/** The page on which a person reviews an agent and selects its further access. */
export function reviewPage(view: ReviewView): PageAnswer {
  const { agent, formToken, refused, action, bait, button } = view;
  const { scopesNow, scopesAfter } = agent;
  const label = scopesNow.length > 0 ? "Further access after the claim" : "Access after the claim";
  // The agent keeps its current scopes in any case.
  const options = scopeOptions(scopesAfter.filter((scope) => !scopesNow.includes(scope)));
  return {
    heading: "Is this your agent?",
    errors: refused?.errors,
    isSignedIn: true,
    body: html`${phishingWarning(bait)}
<div class="card">
${descriptionList([
  ["Agent", unverifiedName(agent.name)],
  ["Its id", html`<code>${untrustedText(agent.agentId)}</code>`],
  ["Registered", timeElement(agent.registeredAt)],
  ["Access now", scopeList(scopesNow)],
])}
</div>
<div class="card">
${showForm(
  reviewForm,
  {
    action,
    formToken,
    hidden: { ...view.hidden, held: scopesNow.join(" ") },
    values: { scope: scopesAfter },
    refused,
    vary: { scope: { label, options } },
  },
  html`<div class="buttons">
<button>${button}</button>
<a class="second" href="/account">Cancel</a>
</div>`,
)}
</div>`,
  };
}

/** A warning about phishing, shown before the code is entered (RFC 8628 section 5.4). */
export const phishingWarning = (bait: string): Html => html`<div class="note warning">
<h2>Continue only if you started this agent yourself</h2>
<p>Whoever sends you ${bait} wants you to take responsibility for their agent. What it does is then done in your name.</p>
</div>`;

/** Whether an agent would have no scope after the claim. */
export const grantsNoScope = ({ scopesNow }: ClaimableAgent, chosen: readonly Scope[]): boolean =>
  scopesNow.length === 0 && chosen.length === 0;

/** How a person ends what they allowed. */
export const howToRemove = html`<p>You can end it at any time: on <a href="/account">your account page</a>, remove the agent.</p>`;
