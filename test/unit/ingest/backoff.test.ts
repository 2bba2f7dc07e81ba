import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { backoffMs } from "../../../src/ingest/backoff.ts";
import { DAY_MS } from "../../../src/lib/day.ts";
import { ProviderFault, type ProviderFaultKind } from "../../../src/sources/live/fault.ts";

const HALF_AN_HOUR_MS = 1_800_000;

const KINDS: readonly ProviderFaultKind[] = [
  "unreachable",
  "failing",
  "limited",
  "malformed",
  "refused",
];
const OURS: readonly ProviderFaultKind[] = ["clock", "unkept"];
const fault = (kind: ProviderFaultKind, retryAfterMs?: number) =>
  new ProviderFault(kind, "x", retryAfterMs);

/** The maximum delay in milliseconds, without random reduction. */
const full = (kind: ProviderFaultKind, failures: number) => backoffMs(fault(kind), failures, 1);

describe("the retry delay after a provider fault", () => {
  it("is short for a network fault and long for a rejected key, and doubles up to 30 minutes", () => {
    expect(KINDS.map((kind) => full(kind, 1) / 1_000)).toEqual([5, 5, 30, 60, 300]);
    expect([2, 3, 9, 10, 2_000].map((failures) => full("unreachable", failures) / 1_000)).toEqual([
      10, 20, 1_280, 1_800, 1_800,
    ]);
  });

  it("is short after a failure of the service's own store", () => {
    expect([1, 2, 9].map((failures) => full("unkept", failures) / 1_000)).toEqual([5, 10, 60]);
    expect([1, 2, 9].map((failures) => full("clock", failures) / 1_000)).toEqual([60, 120, 600]);
  });

  it("is random between 50 % and 100 % of its maximum", () => {
    const cases = fc.record({
      kind: fc.constantFrom(...KINDS, ...OURS),
      failures: fc.integer({ min: 1, max: 5_000 }),
      random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    });
    fc.assert(
      fc.property(cases, ({ kind, failures, random }) => {
        const ms = backoffMs(fault(kind), failures, random);
        expect(ms).toBeGreaterThanOrEqual(full(kind, failures) / 2);
        expect(ms).toBeLessThanOrEqual(full(kind, failures));
        expect(full(kind, failures)).toBeLessThanOrEqual(HALF_AN_HOUR_MS);
      }),
      { seed: 8 },
    );
    expect(backoffMs(fault("failing"), 1, 0)).toBe(2_500);
    expect(backoffMs(fault("failing"), 1, 0.5)).toBe(3_750);
  });

  it("is at least the delay that the provider requests, up to one day", () => {
    expect(backoffMs(fault("limited", 7_000), 1, 0)).toBe(15_000);
    expect(backoffMs(fault("limited", 45_000), 1, 0.9)).toBe(45_000);
    expect(backoffMs(fault("failing", 3 * HALF_AN_HOUR_MS), 1, 0.5)).toBe(3 * HALF_AN_HOUR_MS);
    expect(backoffMs(fault("limited", 30 * DAY_MS), 1, 0.5)).toBe(DAY_MS);
    expect(backoffMs(fault("limited", Number.POSITIVE_INFINITY), 1, 0.5)).toBe(DAY_MS);
  });
});
