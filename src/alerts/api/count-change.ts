import type { Caller } from "../../access/caller.ts";
import { countForClientAndAccount } from "../../limits/count-for-client.ts";
import { countAgainstQuotasInOrder, type QuotaCounter } from "../../limits/count-in-order.ts";
import type { Limits } from "../../limits/quotas.ts";
import { rateLimitProblem } from "../../limits/rate-limit-problem.ts";
import { ownerKey, quotaGroup } from "../alert.ts";
import { ownerOf } from "./ownership.ts";

/**
 * Counts one change of an alert or watchlist against the caller's limit.
 *
 * @throws {Problem} `rate_limited`.
 */
export async function countAlertChange(
  limits: Limits,
  caller: Caller,
  ...more: readonly QuotaCounter[]
): Promise<void> {
  const counted = await countForClientAndAccount(limits, {
    client: ["alert-change", ownerKey(caller)],
    account: ["alert-change-account", quotaGroup(ownerOf(caller))],
  });
  const refusal =
    rateLimitProblem(counted) ?? rateLimitProblem(await countAgainstQuotasInOrder(limits, more));
  if (refusal !== undefined) throw refusal;
}
