const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** Pauses between the ten attempts of a delivery, in milliseconds: 75 h 35 m 05 s together (the
 *  example schedule of Standard Webhooks 1.0.0). */
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

/** Longest pause that a receiver may ask for, in milliseconds. */
const LONGEST_ASKED_MS = 24 * HOUR_MS;

/** A pause is longer or shorter by at most this share, so that what failed together does not come
 *  back together. */
const JITTER = 0.1;

/** After which attempt a pause comes. */
export interface Pausing {
  /** Attempts that failed, from 1. */
  readonly failures: number;
  /** A number from 0 to 1 by chance. */
  readonly random: () => number;
}

/** What else there is to know of an attempt to deliver. */
export interface PausingAsAsked extends Pausing {
  /** `Retry-After` of a 429 or 503, in milliseconds. */
  readonly retryAfterMs: number | undefined;
}

/**
 * Milliseconds until a delivery is attempted again. A receiver can ask for more patience than the
 * schedule has, up to a day, but not for less: ten hasty attempts would end it within seconds.
 *
 * @returns `undefined` when that was the last attempt.
 */
export function nextAttemptMs({ retryAfterMs = 0, ...pausing }: PausingAsAsked) {
  const pause = pauseMs(PAUSES_MS, pausing);
  return pause && Math.max(pause, Math.min(retryAfterMs, LONGEST_ASKED_MS));
}

/** The pause that a list has after so many failures, in whole milliseconds; `undefined` when there
 *  is no further attempt. */
export function pauseMs(
  pauses: readonly number[],
  { failures, random }: Pausing,
): number | undefined {
  const pause = pauses[failures - 1];
  return pause && Math.round(pause * (1 + JITTER * (2 * random() - 1)));
}
