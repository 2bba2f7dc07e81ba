import { usedOf } from "./count-in-networks.ts";
import type { Limits, Remaining } from "./limits.ts";
import { shareOf } from "./share.ts";

/** Quotas of an account, each with a narrower one for a single client of it. */
type AccountQuota = "alert-events" | "alert-repeats" | "challenge-host" | "token-revoked";

/** Who uses up a quota, as it is counted. */
interface Keys {
  /** The application, agent or API key. */
  readonly client: string;
  /** The account that it belongs to. */
  readonly account: string;
}

/**
 * Counts one against the quota of a client, then against that of its account. The client's share of the
 * latter shrinks as less is left (`shareOf`), so that no application of a person uses up what the
 * person's others need.
 *
 * @returns The last that was counted; it is exceeded when the client has used up its share.
 */
export async function countForClient(
  limits: Limits,
  quota: AccountQuota,
  { client, account }: Keys,
): Promise<Remaining> {
  const ofClient = await limits.count(`${quota}-client`, client);
  if (ofClient.isExceeded) return ofClient;
  const left = await limits.look(quota, account);
  const total = left.policy.points;
  const most = Math.min(total, ofClient.policy.points);
  const hasShare = usedOf(ofClient) <= shareOf({ total, most }, left.points);
  return hasShare ? limits.count(quota, account) : { ...left, isExceeded: true };
}
