import { quotaOwner } from "../../auth/entitlement.ts";
import { countForClientAndAccount } from "../../limits/count-for-client.ts";
import type { Limits, QuotaState } from "../../limits/quotas.ts";
import type { Records } from "../../store/port/records.ts";
import type { Change } from "../../store/transact.ts";
import { type AlertOwner, ownerKey, quotaGroup } from "../alert.ts";
import { deliveries, type StoredDelivery } from "./delivery.ts";

/** Dependencies of `countRepeatedAttempt`. */
export interface RepeatLimitOptions {
  readonly records: Records;
  readonly limits: Limits;
}

/** Whether an attempt is a retry, or sends a message that was not caused by a new event. */
export const isRepeatedAttempt = ({ value }: StoredDelivery): boolean =>
  value.attempts > 0 || value.isRepeat === true;

/**
 * Counts an attempt that was not caused by a new event. Attempts are logged for 30 days, so without
 * this limit one account could fill the disk.
 */
export async function countRepeatedAttempt(
  owner: AlertOwner,
  { records, limits }: RepeatLimitOptions,
): Promise<QuotaState> {
  const [ofClient, ofAccount = ofClient] = await countForClientAndAccount(limits, {
    client: ["alert-repeats-client", ownerKey(await quotaOwner(records, owner))],
    account: ["alert-repeats", quotaGroup(owner)],
  });
  return ofAccount;
}

/** Delays a delivery until its rate limit resets; `undefined` when the limit is not exceeded. */
export function delayDeliveryUntilReset(
  delivery: StoredDelivery,
  { isExceeded, resetMs }: QuotaState,
): Change | undefined {
  return isExceeded ? rescheduleDelivery(delivery, resetMs) : undefined;
}

/**
 * Makes a delivery due later.
 *
 * @param dueInMs Milliseconds until the delivery is due; `null` to hold the delivery back until it
 * is released.
 */
export const rescheduleDelivery =
  (delivery: StoredDelivery, dueInMs: number | null): Change =>
  (tx) =>
    tx.update(deliveries, delivery, { value: delivery.value, dueInMs });
