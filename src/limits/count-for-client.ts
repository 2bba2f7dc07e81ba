import { usedPoints } from "./count-in-networks.ts";
import type { QuotaCounter } from "./count-in-order.ts";
import type { Limits, QuotaState } from "./quotas.ts";
import { partyShare } from "./share.ts";

/** The quota of one client of an account, and the larger quota of the account. */
export interface ClientAndAccount {
  /** Counter per application, agent or API key. */
  readonly client: QuotaCounter;
  readonly account: QuotaCounter;
}

/**
 * Counts one action in the quota of a client, then in the quota of its account. The client's share
 * of the account's quota shrinks as less of the quota remains (`partyShare`), so that no
 * application of a person uses up the quota of the person's other applications.
 *
 * @returns The states of the counted quotas. Only the last quota can be exceeded; it also counts as
 * exceeded if the client has used up its share.
 */
export async function countForClientAndAccount(
  limits: Limits,
  { client, account }: ClientAndAccount,
): Promise<readonly [QuotaState, QuotaState?]> {
  const ofClient = await limits.count(...client);
  if (ofClient.isExceeded) return [ofClient];
  const left = await limits.peek(...account);
  const total = left.policy.points;
  const most = Math.min(total, ofClient.policy.points);
  const hasShare = usedPoints(ofClient) <= partyShare({ total, most }, left.points);
  return [ofClient, hasShare ? await limits.count(...account) : { ...left, isExceeded: true }];
}
