import type { LimitState, Limits } from "../../limits/limits.ts";
import type { Change } from "../../store/transact.ts";
import { type EventSource, eventParty } from "../alert.ts";
import { deliveries, type StoredDelivery } from "./delivery.ts";

/** Whether an attempt is a retry, or sends a message that was not caused by a new event. */
export const isRepeatedAttempt = ({ value }: StoredDelivery): boolean =>
  value.attempts > 0 || value.isRepeat === true;

/**
 * Counts an attempt that was not caused by a new event. Attempts are logged for 30 days, so without
 * this limit a few accounts could fill the disk.
 */
export function countRepeatedAttempt(alert: EventSource, limits: Limits): Promise<LimitState> {
  const { caller, network } = eventParty(alert);
  return limits.admit("events", { caller: `again ${caller}`, network });
}

/** Delays a delivery until its rate limit resets; `undefined` when the limit is not exceeded. */
export function delayDeliveryUntilReset(
  delivery: StoredDelivery,
  { isExceeded, resetMs }: LimitState,
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
