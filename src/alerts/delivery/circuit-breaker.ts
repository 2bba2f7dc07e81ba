/** Failures in a row that open the breaker of an endpoint. */
const FAILURES = 5;

/** Pauses before each attempt to find out whether the endpoint is back, in milliseconds; the last
 *  one stays. */
const PAUSES_MS = [5_000, 300_000, 1_800_000] as const;

/** Attempts at an endpoint at a time while nothing is known against it. */
export const MAX_CONCURRENT_ATTEMPTS = 5;

/** What is known of an endpoint from the attempts at it. */
export interface CircuitBreaker {
  /** In a row. */
  readonly failures: number;
  /** Pauses that have been made since the last success; 0: the breaker is closed. */
  readonly pauses: number;
  /** Nothing is sent until then, in milliseconds by a clock that is never set. */
  readonly openUntil: number;
}

/** How the breaker of every endpoint begins, and what a success makes of it. */
export const CLOSED: CircuitBreaker = { failures: 0, pauses: 0, openUntil: 0 };

/** How many attempts there may be at a time: 5, or one to try after a pause, or none. */
export function allowedAttempts({ pauses, openUntil }: CircuitBreaker, now: number): number {
  if (pauses === 0) return MAX_CONCURRENT_ATTEMPTS;
  return now < openUntil ? 0 : 1;
}

/**
 * What a failure makes of a breaker.
 *
 * @param attempt `isTry`: it was made after a pause, to find out. Those that were under way when
 *   the breaker opened tell nothing new.
 */
export function afterFailedAttempt(
  breaker: CircuitBreaker,
  { isTry, now }: { readonly isTry: boolean; readonly now: number },
): CircuitBreaker {
  const failures = breaker.failures + 1;
  const opens = breaker.pauses === 0 ? failures >= FAILURES : isTry;
  if (!opens) return { ...breaker, failures };
  const pause = PAUSES_MS[breaker.pauses] ?? PAUSES_MS[PAUSES_MS.length - 1] ?? 0;
  return { failures, pauses: breaker.pauses + 1, openUntil: now + pause };
}
