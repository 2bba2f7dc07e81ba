/** Consecutive failures that open the circuit breaker of an endpoint. */
const FAILURE_THRESHOLD = 5;

/** Pauses before each probe of an endpoint whose breaker is open, in milliseconds; the last one
 *  repeats. */
const PAUSES_MS = [5_000, 300_000, 1_800_000] as const;

/** Concurrent attempts at an endpoint while its breaker is closed. */
export const MAX_CONCURRENT_ATTEMPTS = 5;

/** State of the circuit breaker of an endpoint. */
export interface CircuitBreaker {
  /** Consecutive failures. */
  readonly failures: number;
  /** Pauses since the last success; 0: the breaker is closed. */
  readonly pauses: number;
  /** Instant until which nothing is sent, in milliseconds of a monotonic clock. */
  readonly openUntil: number;
}

/** The closed breaker: the initial state, and the state after a success. */
export const CLOSED_BREAKER: CircuitBreaker = { failures: 0, pauses: 0, openUntil: 0 };

/** Concurrent attempts that are allowed now: 5, or one probe after a pause, or none. */
export function allowedAttempts({ pauses, openUntil }: CircuitBreaker, now: number): number {
  if (pauses === 0) return MAX_CONCURRENT_ATTEMPTS;
  return now < openUntil ? 0 : 1;
}

/**
 * The state after a failed attempt.
 *
 * @param attempt `isProbe`: it was started while the breaker was open, after a pause. Attempts that
 *   were already running when the breaker opened do not extend the pause.
 */
export function afterFailedAttempt(
  breaker: CircuitBreaker,
  { isProbe, now }: { readonly isProbe: boolean; readonly now: number },
): CircuitBreaker {
  const failures = breaker.failures + 1;
  const opens = breaker.pauses === 0 ? failures >= FAILURE_THRESHOLD : isProbe;
  if (!opens) return { ...breaker, failures };
  const pause = PAUSES_MS[breaker.pauses] ?? PAUSES_MS[PAUSES_MS.length - 1] ?? 0;
  return { failures, pauses: breaker.pauses + 1, openUntil: now + pause };
}
