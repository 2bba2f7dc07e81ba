const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * Pauses between the ten attempts of a delivery, in milliseconds; 75 h 35 min 5 s in total (the
 * example schedule of Standard Webhooks 1.0.0).
 */
const PAUSES_MS: readonly number[] = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
];

/** Longest `Retry-After` that is honored, in milliseconds. */
const MAX_RETRY_AFTER_MS = 24 * HOUR_MS;

/**
 * Each pause is randomly lengthened or shortened by up to this fraction, so that deliveries that
 * failed together are not retried together.
 */
const JITTER = 0.1;

/** Inputs for calculating the pause before a retry. */
export interface RetryOptions {
  /** Number of failed attempts, at least 1. */
  readonly failures: number;
  /** Random number from 0 to 1, for jitter. */
  readonly random: () => number;
}

/**
 * Inputs for calculating the pause before a delivery is retried, including the pause that the
 * receiver requested.
 */
interface DeliveryRetryOptions extends RetryOptions {
  /** `Retry-After` of a 429 or 503, in milliseconds. */
  readonly retryAfterMs: number | undefined;
}

/**
 * Milliseconds until a delivery is attempted again. `Retry-After` can lengthen the pause to at most
 * a day, but not shorten it: otherwise a receiver could exhaust all ten attempts within seconds.
 *
 * @returns `undefined` when there is no further attempt.
 */
export function nextAttemptDelayMs({ retryAfterMs = 0, ...retry }: DeliveryRetryOptions) {
  const pause = retryPauseMs(PAUSES_MS, retry);
  return pause && Math.max(pause, Math.min(retryAfterMs, MAX_RETRY_AFTER_MS));
}

/**
 * The jittered pause after the given number of failures, in whole milliseconds; `undefined` when
 * there is no further attempt.
 */
export function retryPauseMs(
  pauses: readonly number[],
  { failures, random }: RetryOptions,
): number | undefined {
  const pause = pauses[failures - 1];
  return pause && Math.round(pause * (1 + JITTER * (2 * random() - 1)));
}
