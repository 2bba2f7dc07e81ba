import { describe, expect, it } from "vitest";
import {
  allowedConcurrentAttempts,
  breakerAfterFailure,
  type CircuitBreaker,
  CLOSED_BREAKER,
} from "../../../../src/alerts/delivery/circuit-breaker.ts";

/** Returns a circuit breaker after `failures` consecutive failed attempts. */
function failedTimes(
  failures: number,
  from: CircuitBreaker = CLOSED_BREAKER,
): { breaker: CircuitBreaker; now: number } {
  let [breaker, now] = [from, 0];
  for (let failure = 0; failure < failures; failure++) {
    now = Math.max(now, breaker.openUntil);
    breaker = breakerAfterFailure(breaker, { isProbe: breaker.pauses > 0, now });
  }
  return { breaker, now };
}

describe("the circuit breaker of an endpoint", () => {
  it("allows five concurrent attempts after fewer than five consecutive failures", () => {
    for (const failures of [0, 1, 4]) {
      const { breaker, now } = failedTimes(failures);
      expect(allowedConcurrentAttempts(breaker, now)).toBe(5);
    }
  });

  it.each([
    [5, 5_000],
    [6, 300_000],
    [7, 1_800_000],
    [8, 1_800_000],
    [30, 1_800_000],
  ])(
    "after %d consecutive failures allows no attempt for %d ms, and then one trial",
    (failures, pauseMs) => {
      const { breaker, now } = failedTimes(failures);
      expect(allowedConcurrentAttempts(breaker, now)).toBe(0);
      expect(allowedConcurrentAttempts(breaker, now + pauseMs - 1)).toBe(0);
      expect(allowedConcurrentAttempts(breaker, now + pauseMs)).toBe(1);
    },
  );

  it("keeps its pause when attempts that were already running fail after it has opened", () => {
    const { breaker, now } = failedTimes(5);
    const late = [1, 2, 3, 4].reduce<CircuitBreaker>(
      (before, ms) => breakerAfterFailure(before, { isProbe: false, now: now + 10_000 + ms }),
      breaker,
    );
    expect(allowedConcurrentAttempts(late, now + 5_000)).toBe(1);
    expect(late.pauses).toBe(1);
  });
});
