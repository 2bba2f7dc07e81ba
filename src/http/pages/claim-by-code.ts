import { z } from "zod";
import type { Scope } from "../../access/scopes.ts";
import { partyAt } from "../../limits/address-key.ts";
import type { Party } from "../../limits/limits.ts";
import { requireAdmission } from "../../limits/rate-limit-problem.ts";
import { html } from "../../markup/html.ts";
import { CLAIM_CODE_LIFETIME_MS } from "../../principals/agents/claim-code.ts";
import { queryOf } from "../request-context.ts";
import {
  grantsNoScope,
  howToRemove,
  phishingWarning,
  reviewForm,
  reviewPage,
} from "./claim-review.ts";
import type { ClaimVisit } from "./claim-visit.ts";
import { descriptionList, scopeList, untrustedText } from "./elements.ts";
import { createForm, type Refused, readForm, refuseForm } from "./form.ts";
import { showForm } from "./form-html.ts";
import type { PageAnswer } from "./page-answer.ts";
import type { PageContext } from "./page-context.ts";
import { NO_SCOPE_SELECTED, sentScopes } from "./scopes-field.ts";

const AgentId = z
  .string()
  .trim()
  .regex(/^[!-~]{1,200}$/);

/** The form for an agent's id and its code. The review sends both again as hidden fields. */
export const codeForm = createForm({
  agent_id: {
    control: "input",
    label: "Id of the agent",
    hint: "The agent knows it as its client_id.",
    type: "text",
    autocomplete: "off",
    capitals: "none",
    isExact: true,
    isRequired: true,
    maxLength: 200,
    schema: AgentId,
  },
  code: {
    control: "input",
    label: "Claim code",
    hint: `Letters and digits that the agent was given. They work for ${CLAIM_CODE_LIFETIME_MS / 60_000} minutes.`,
    type: "text",
    look: "code",
    autocomplete: "off",
    capitals: "characters",
    isExact: true,
    isRequired: true,
    isSecret: true,
    maxLength: 64,
    // With any separators between its 8 characters.
    schema: z.string().min(1).max(64),
  },
});

/**
 * The error is the same for an unknown agent, a wrong code and an expired code, so that guesses
 * reveal nothing.
 */
const INVALID_CODE =
  "The id or the code is wrong, or the code is too old. Ask the agent for a new code.";

const BAIT = "an agent’s id and code";

/**
 * Asks for an agent id and its code. The code is never prefilled, so that no link can supply it.
 */
export async function showCodeForm(visit: ClaimVisit, { show }: PageContext): Promise<void> {
  const { data: agentId } = AgentId.safeParse(queryOf(visit.req).get("agent"));
  show(visit.res, codePage(visit, { agentId }));
}

/** Shows the agent to which a code belongs. */
export async function reviewByCode(visit: ClaimVisit, context: PageContext): Promise<void> {
  await countAttempt(visit, context);
  return showReview(visit, context);
}

/** Completes the claim of an agent, with the scopes that the person selected. */
export async function completeClaim(visit: ClaimVisit, context: PageContext): Promise<void> {
  await countAttempt(visit, context);
  const { req, res, session } = visit;
  const { accountId } = session;
  const { data: entered } = readForm(codeForm, req);
  const { data: review, refused } = readForm(reviewForm, req);
  if (refused !== undefined) return showReview(visit, context, refused);
  if (entered === undefined) return rejectCode(visit, context);
  const claim = { agentId: entered.agent_id, code: entered.code };
  const scopes = review.scope;
  const agent = scopes.length > 0 ? undefined : await context.claims.preview(claim, accountId);
  if (agent !== undefined && grantsNoScope(agent, scopes)) {
    const again = refuseForm(reviewForm, req, { scope: NO_SCOPE_SELECTED });
    return showReview(visit, context, again);
  }
  const choice = { accountId, scopes, shown: sentScopes(req, "held") };
  const outcome = await context.claims.completeByPerson(claim, choice);
  if (outcome.status !== "claimed") return rejectCode(visit, context);
  context.show(res, claimedPage(outcome));
}

/**
 * Counts an attempt. Showing the agent and completing the claim both check the code, so both count.
 */
async function countAttempt(visit: ClaimVisit, { limits, guard }: PageContext): Promise<void> {
  await guard.check(claimantOf(visit));
  await requireAdmission(limits, "claims", claimantOf(visit));
}

/** The person, so that wrong codes lock nobody else out who claims from the same address. */
const claimantOf = ({ req, session }: ClaimVisit): Party => partyAt(req.ip, session.accountId);

async function showReview(
  visit: ClaimVisit,
  context: PageContext,
  refused?: Refused,
): Promise<void> {
  const { data } = readForm(codeForm, visit.req);
  if (data === undefined) return rejectCode(visit, context);
  const { agent_id, code } = data;
  const agent = await context.claims.preview({ agentId: agent_id, code }, visit.session.accountId);
  if (agent === undefined) return rejectCode(visit, context);
  const { formToken } = visit.browser;
  const step = { action: "/claim/confirm", bait: BAIT, button: "Claim this agent" };
  const hidden = { agent_id: agent.agentId, code };
  context.show(visit.res, reviewPage({ agent, formToken, refused, hidden, ...step }));
}

async function rejectCode(visit: ClaimVisit, { show, guard }: PageContext): Promise<void> {
  await guard.record(claimantOf(visit));
  const refused = refuseForm(codeForm, visit.req, { code: INVALID_CODE });
  show(visit.res, codePage(visit, { refused }));
}

const codePage = (
  { browser }: ClaimVisit,
  { agentId, refused }: { readonly agentId?: string | undefined; readonly refused?: Refused },
): PageAnswer => ({
  heading: "Claim an agent",
  errors: refused?.errors,
  isSignedIn: true,
  body: html`<p class="lead">When you claim an agent, you become responsible for it. The agent may then do what you allow, until you end it.</p>
${phishingWarning(BAIT)}
<div class="card">
${showForm(
  codeForm,
  {
    action: "/claim",
    formToken: browser.formToken,
    values: { agent_id: agentId },
    refused,
  },
  html`<button>Review the agent</button>`,
)}
</div>`,
});

/** An agent that was claimed. */
interface ClaimedAgent {
  readonly agentId: string;
  readonly scopes: readonly Scope[];
}

const claimedPage = ({ agentId, scopes }: ClaimedAgent): PageAnswer => ({
  heading: "You have claimed this agent",
  isSignedIn: true,
  body: html`<div class="card">
${descriptionList([
  ["Its id", html`<code>${untrustedText(agentId)}</code>`],
  ["Access", scopeList(scopes)],
])}
</div>
<p>All earlier tokens of the agent have been revoked. It gets new ones by itself.</p>
${howToRemove}
<p class="buttons"><a class="main" href="/account">Go to your account</a></p>`,
});
