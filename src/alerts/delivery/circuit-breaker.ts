/** Number of consecutive failures that open the circuit breaker of an endpoint. */
const FAILURE_THRESHOLD = 5;

/**
 * Pauses before successive trials of an endpoint whose breaker is open, in milliseconds; the last
 * pause repeats.
 */
const PAUSES_MS = [5_000, 300_000, 1_800_000] as const;

/** Maximum number of concurrent attempts at an endpoint whose breaker is closed. */
export const MAX_CONCURRENT_ATTEMPTS = 5;

/** State of the circuit breaker of an endpoint. */
export interface CircuitBreaker {
  /** Number of consecutive failures. */
  readonly failures: number;
  /** Number of pauses since the last success; 0 while the breaker is closed. */
  readonly pauses: number;
  /** Nothing is sent before this instant, in milliseconds of a monotonic clock. */
  readonly openUntil: number;
}

/** The closed breaker: the initial state, and the state after a success. */
export const CLOSED_BREAKER: CircuitBreaker = { failures: 0, pauses: 0, openUntil: 0 };

/**
 * Number of concurrent attempts allowed at `now`: 5 while the breaker is closed, 0 during a pause,
 * and 1 trial after a pause.
 */
export function allowedConcurrentAttempts(
  { pauses, openUntil }: CircuitBreaker,
  now: number,
): number {
  if (pauses === 0) return MAX_CONCURRENT_ATTEMPTS;
  return now < openUntil ? 0 : 1;
}

/**
 * The breaker state after a failed attempt.
 *
 * @param attempt `isProbe` is set if the attempt was started after a pause, while the breaker was
 * open. Attempts that were already running when the breaker opened do not extend the pause.
 */
export function breakerAfterFailure(
  breaker: CircuitBreaker,
  { isProbe, now }: { readonly isProbe: boolean; readonly now: number },
): CircuitBreaker {
  const failures = breaker.failures + 1;
  const opens = breaker.pauses === 0 ? failures >= FAILURE_THRESHOLD : isProbe;
  if (!opens) return { ...breaker, failures };
  const pause = PAUSES_MS[breaker.pauses] ?? PAUSES_MS[PAUSES_MS.length - 1] ?? 0;
  return { failures, pauses: breaker.pauses + 1, openUntil: now + pause };
}
