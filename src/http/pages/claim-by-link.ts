import { z } from "zod";
import { addressKey } from "../../limits/address-key.ts";
import {
  approvePage,
  isForNothing,
  noAttemptPage,
  shownCodePage,
  wrongAccountPage,
} from "./claim.ts";
import type { ClaimRoutesOptions, ClaimVisit } from "./claim-visit.ts";
import type { FieldErrors } from "./elements.ts";
import { filled, nothingChosen, ShownScopes, TickedScopes, typed } from "./form.ts";

const ApproveForm = z.object({ attempt: z.string(), scope: TickedScopes, held: ShownScopes });

/** Shows the agent that sent the person here. */
export async function showAttempt(
  visit: ClaimVisit,
  options: ClaimRoutesOptions,
  { attempt, errors = [] }: { readonly attempt: string; readonly errors?: FieldErrors },
): Promise<void> {
  const { res, browser, session } = visit;
  const { accountId } = session;
  const agent = await options.claims.attempted(attempt, accountId);
  if (agent === undefined) return options.show(res, noAttemptPage);
  if (agent === "wrong_account") {
    const account = await options.accounts.find(accountId);
    return options.show(res, wrongAccountPage(account?.label ?? accountId));
  }
  const chosen = errors.length > 0 ? [] : agent.scopesAfter;
  const { formToken } = browser;
  options.show(res, approvePage({ formToken, agent, attempt, chosen, errors }));
}

/** Records the person's consent, and shows the code for the agent. */
export async function agreeToAgent(visit: ClaimVisit, options: ClaimRoutesOptions): Promise<void> {
  const { req, res, session } = visit;
  const { accountId } = session;
  await options.throttle({ "claim-address": addressKey(req.ip), "claim-user": accountId });
  const { data, errors } = filled(ApproveForm, req);
  if (errors !== undefined) {
    return showAttempt(visit, options, { attempt: typed(req, "attempt") ?? "", errors });
  }
  const { attempt, scope: scopes, held: shown } = data;
  const agent = await options.claims.attempted(attempt, accountId);
  if (typeof agent === "object" && isForNothing(agent, scopes)) {
    return showAttempt(visit, options, { attempt, errors: nothingChosen });
  }
  const confirmed = await options.claims.confirm(attempt, { accountId, scopes, shown });
  options.show(res, confirmed ? shownCodePage(confirmed.code) : noAttemptPage);
}
