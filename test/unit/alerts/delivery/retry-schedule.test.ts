import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nextAttemptDelayMs } from "../../../../src/alerts/delivery/retry-schedule.ts";

const HOUR = 3_600_000;

/** All retry delays in milliseconds of a delivery that always fails. */
const pauses = (random: () => number, retryAfterMs?: number) =>
  Array.from({ length: 10 }, (_, at) =>
    nextAttemptDelayMs({ failures: at + 1, random, retryAfterMs }),
  );

describe("the retry schedule of a delivery", () => {
  it("is jittered by at most a tenth", () => {
    const usual = pauses(() => 0.5);
    const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(chance, (random) => {
        for (const [at, pause] of pauses(() => random).entries()) {
          const share = (pause ?? 1) / (usual[at] ?? 1);
          expect(Math.abs(share - 1)).toBeLessThanOrEqual(0.1 + 1e-9);
        }
      }),
      { seed: 6 },
    );
    expect(pauses(() => 0)[0]).toBe(4_500);
    expect(pauses(() => 1 - Number.EPSILON)[0]).toBe(5_500);
  });

  it("honors Retry-After up to one day, and never shortens a scheduled pause", () => {
    expect(pauses(() => 0.5, 60_000).slice(0, 3)).toEqual([60_000, 300_000, 1_800_000]);
    expect(pauses(() => 0.5, 1_000)).toEqual(pauses(() => 0.5));
    expect(pauses(() => 0.5, 1_000 * HOUR)[0]).toBe(24 * HOUR);
    expect(pauses(() => 0.5, 60_000)[9]).toBeUndefined();
  });
});
