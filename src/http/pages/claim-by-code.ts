import { z } from "zod";
import { partyAt } from "../../limits/address-key.ts";
import { requireAdmission } from "../../limits/rate-limit-problem.ts";
import { queryOf } from "../request-context.ts";
import { claimConfirmPage, claimedPage, claimFormPage, grantsNoScope } from "./claim.ts";
import type { ClaimVisit } from "./claim-visit.ts";
import type { FieldErrors } from "./elements.ts";
import {
  noScopeSelectedErrors,
  OfferedScopes,
  SelectedScopes,
  submittedValue,
  validateForm,
} from "./form.ts";
import type { PageContext } from "./page-context.ts";

const AgentId = z
  .string()
  .trim()
  .regex(/^[!-~]{1,200}$/);

/**
 * Schema of the form: an agent id and its code, including any separators between the 8 characters
 * of the code.
 */
const CodeForm = z.object({ agent_id: AgentId, code: z.string().min(1).max(64) });

const ConfirmForm = CodeForm.extend({ scope: SelectedScopes, held: OfferedScopes });

/**
 * The error is the same for an unknown agent, a wrong code and an expired code, so that guesses
 * reveal nothing.
 */
const invalidCode: FieldErrors = [
  {
    id: "code",
    text: "The id or the code is wrong, or the code is too old. Ask the agent for a new code.",
  },
];

/**
 * Asks for an agent id and its code. The code is never prefilled, so that no link can supply it.
 */
export async function showCodeForm(visit: ClaimVisit, { show }: PageContext): Promise<void> {
  const { data: agentId } = AgentId.safeParse(queryOf(visit.req).get("agent"));
  show(visit.res, claimFormPage({ formToken: visit.browser.formToken, agentId }));
}

/** Shows the agent to which a code belongs. */
export async function showAgent(visit: ClaimVisit, options: PageContext): Promise<void> {
  await countAttempt(visit, options);
  return showAgentOfCode(visit, options);
}

/** Completes the claim of an agent, with the scopes that the person selected. */
export async function completeClaim(visit: ClaimVisit, options: PageContext): Promise<void> {
  await countAttempt(visit, options);
  const { data, errors } = validateForm(ConfirmForm, visit.req);
  if (errors !== undefined) return showAgentOfCode(visit, options, errors);
  const claim = { agentId: data.agent_id, code: data.code };
  const { accountId } = visit.session;
  const { scope: scopes, held: shown } = data;
  const agent = scopes.length > 0 ? undefined : await options.claims.preview(claim, accountId);
  if (agent !== undefined && grantsNoScope(agent, scopes)) {
    return showAgentOfCode(visit, options, noScopeSelectedErrors);
  }
  const outcome = await options.claims.completeByPerson(claim, { accountId, scopes, shown });
  if (outcome.status !== "claimed") return rejectCode(visit, options);
  options.show(visit.res, claimedPage(outcome));
}

/**
 * Counts an attempt. Showing the agent and completing the claim both check the code, so both count.
 */
async function countAttempt(
  { req, session }: ClaimVisit,
  { limits, guard }: PageContext,
): Promise<void> {
  await guard.check(partyAt(req.ip));
  await requireAdmission(limits, "claims", partyAt(req.ip, session.accountId));
}

async function showAgentOfCode(
  visit: ClaimVisit,
  options: PageContext,
  errors: FieldErrors = [],
): Promise<void> {
  const { data } = validateForm(CodeForm, visit.req);
  if (data === undefined) return rejectCode(visit, options);
  const { agent_id: agentId, code } = data;
  const agent = await options.claims.preview({ agentId, code }, visit.session.accountId);
  if (agent === undefined) return rejectCode(visit, options);
  const chosen = errors.length > 0 ? [] : agent.scopesAfter;
  const { formToken } = visit.browser;
  options.show(visit.res, claimConfirmPage({ formToken, agent, code, chosen, errors }));
}

async function rejectCode(
  { req, res, browser }: ClaimVisit,
  { show, guard }: PageContext,
): Promise<void> {
  await guard.record(partyAt(req.ip));
  const { formToken } = browser;
  show(
    res,
    claimFormPage({ formToken, agentId: submittedValue(req, "agent_id"), errors: invalidCode }),
  );
}
