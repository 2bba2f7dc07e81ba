import { usedPoints } from "./count-in-networks.ts";
import type { Counter } from "./count-in-order.ts";
import type { Limits, QuotaState } from "./quotas.ts";
import { shareOf } from "./share.ts";

/** A quota of one client of an account, and the wider one of the account. */
export interface ClientAndAccount {
  /** Per application, agent or API key. */
  readonly client: Counter;
  readonly account: Counter;
}

/**
 * Counts one in the quota of a client, then in that of its account. The client's share of the
 * account's quota shrinks as less remains (`shareOf`), so that no application of a person uses up
 * what their others need.
 *
 * @returns The counted quotas; only the last can be exceeded, also if the client has used its
 *   share.
 */
export async function countForClient(
  limits: Limits,
  { client, account }: ClientAndAccount,
): Promise<readonly [QuotaState, QuotaState?]> {
  const ofClient = await limits.count(...client);
  if (ofClient.isExceeded) return [ofClient];
  const left = await limits.peek(...account);
  const total = left.policy.points;
  const most = Math.min(total, ofClient.policy.points);
  const hasShare = usedPoints(ofClient) <= shareOf({ total, most }, left.points);
  return [ofClient, hasShare ? await limits.count(...account) : { ...left, isExceeded: true }];
}
