import type { LimitState, Limits } from "../../limits/limits.ts";
import { type EventSource, eventParty } from "../alert.ts";
import type { StoredDelivery } from "./delivery.ts";
import { delay, type Instead } from "./endpoint.ts";

/**
 * Counts an attempt that was not caused by a new event. Attempts are logged for 30 days, so without
 * this limit a few accounts could fill the disk.
 */
export function countRepeatedAttempt(source: EventSource, limits: Limits): Promise<LimitState> {
  const { caller, network } = eventParty(source);
  return limits.admit("events", { caller: `again ${caller}`, network });
}

/** Delays a delivery until a limit resets; `undefined` when the limit is not exceeded. */
export const delayIfExceeded = (
  delivery: StoredDelivery,
  { isExceeded, resetMs }: LimitState,
): Instead | undefined => (isExceeded ? delay(delivery, resetMs) : undefined);

/**
 * Counts an attempt that is a retry, or sends a message that was not caused by a new event, and
 * delays the delivery while the limit on these is exceeded; `undefined` when it can be sent.
 */
export async function delayIfRepeatedTooOften(
  delivery: StoredDelivery,
  source: EventSource,
  limits: Limits,
): Promise<Instead | undefined> {
  const { attempts, isRepeat } = delivery.value;
  if (attempts === 0 && isRepeat === undefined) return undefined;
  return delayIfExceeded(delivery, await countRepeatedAttempt(source, limits));
}
