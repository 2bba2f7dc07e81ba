import type { Caller } from "../../auth/caller.ts";
import { countForClient } from "../../limits/count-for-client.ts";
import { countInOrder, type QuotaCounter } from "../../limits/count-in-order.ts";
import type { Limits } from "../../limits/quotas.ts";
import { rateLimitProblem } from "../../limits/rate-limit-problem.ts";
import { ownerKey, quotaGroup } from "../alert.ts";
import { ownerOf } from "./ownership.ts";

/**
 * Counts one change of an alert or watchlist against the caller's limit.
 *
 * @throws {Problem} `rate_limited`.
 */
export async function countChange(
  limits: Limits,
  caller: Caller,
  ...more: readonly QuotaCounter[]
): Promise<void> {
  const counted = await countForClient(limits, {
    client: ["alert-change", ownerKey(caller)],
    account: ["alert-change-account", quotaGroup(ownerOf(caller))],
  });
  const refusal = rateLimitProblem(counted) ?? rateLimitProblem(await countInOrder(limits, more));
  if (refusal !== undefined) throw refusal;
}
