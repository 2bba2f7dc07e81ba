import { describe, expect, it } from "vitest";
import { promotionOf } from "../../../src/research/backtest/promotion.ts";
import { CANDIDATE } from "../../../src/score/candidate.ts";

/** Measures of 5 sessions with this many weekly dates, a lower bound of the interval and a net spread. */
const measured = (dates: number, low: number, net: number, assetClass = "stock") =>
  ({
    assetClass,
    step: 5,
    horizons: [
      {
        horizon: 5,
        neutralIc: { dates, interval: { low, high: 0.1 } },
        book: {
          net: [
            { costBp: 0, mean: 1 },
            { costBp: 10, mean: net },
          ],
        },
      },
    ],
  }) as unknown as Parameters<typeof promotionOf>[0];

const LIVE = { subject: CANDIDATE.name, from: "2026-11-24" } as const;

describe("the registered rule for promoting the candidate method", () => {
  it("is met when the interval lies above 0 and the portfolio earns more than its costs", () => {
    expect(promotionOf(measured(60, 0.001, 0.001), LIVE)).toBe("held");
    expect(promotionOf(measured(60, 0, 0.001), LIVE)).toBe("failed");
    expect(promotionOf(measured(60, 0.001, 0), LIVE)).toBe("failed");
  });

  it("gives no result before 252 sessions", () => {
    expect(promotionOf(measured(50, 0.001, 0.001), LIVE)).toBe("too_early");
    expect(promotionOf(measured(51, 0.001, 0.001), LIVE)).toBe("held");
  });

  it("counts no session up to the registration date", () => {
    const known = { ...LIVE, from: CANDIDATE.registered };
    expect(promotionOf(measured(500, 0.001, 0.001), known)).toBe("not_live");
  });

  it("does not apply to another subject or class", () => {
    expect(promotionOf(measured(60, 1, 1), { ...LIVE, subject: "composite" })).toBeUndefined();
    expect(promotionOf(measured(60, 1, 1, "crypto"), LIVE)).toBeUndefined();
  });
});
