import { z } from "zod";
import { partyAt } from "../../limits/address-key.ts";
import { requireAdmission } from "../../limits/rate-limit-problem.ts";
import {
  claimApprovePage,
  claimCodePage,
  grantsNoScope,
  invalidClaimLinkPage,
  wrongAccountPage,
} from "./claim.ts";
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

const ApproveForm = z.object({ attempt: z.string(), scope: SelectedScopes, held: OfferedScopes });

/** Shows the agent whose link the person opened. */
export async function showApproval(
  visit: ClaimVisit,
  options: PageContext,
  { attempt, errors = [] }: { readonly attempt: string; readonly errors?: FieldErrors },
): Promise<void> {
  const { res, browser, session } = visit;
  const { accountId } = session;
  const agent = await options.claims.findByAttempt(attempt, accountId);
  if (agent === undefined) return options.show(res, invalidClaimLinkPage);
  if (agent === "wrong_account") {
    const account = await options.accounts.find(accountId);
    return options.show(res, wrongAccountPage(account?.label ?? accountId));
  }
  const chosen = errors.length > 0 ? [] : agent.scopesAfter;
  const { formToken } = browser;
  options.show(res, claimApprovePage({ formToken, agent, attempt, chosen, errors }));
}

/** Stores the person's approval, and shows the code for the agent. */
export async function approveClaim(visit: ClaimVisit, options: PageContext): Promise<void> {
  const { req, res, session } = visit;
  const { accountId } = session;
  await requireAdmission(options.limits, "claims", partyAt(req.ip, accountId));
  const { data, errors } = validateForm(ApproveForm, req);
  if (errors !== undefined) {
    return showApproval(visit, options, { attempt: submittedValue(req, "attempt") ?? "", errors });
  }
  const { attempt, scope: scopes, held: shown } = data;
  const agent = await options.claims.findByAttempt(attempt, accountId);
  if (typeof agent === "object" && grantsNoScope(agent, scopes)) {
    return showApproval(visit, options, { attempt, errors: noScopeSelectedErrors });
  }
  const confirmed = await options.claims.confirm(attempt, { accountId, scopes, shown });
  options.show(res, confirmed ? claimCodePage(confirmed.code) : invalidClaimLinkPage);
}
