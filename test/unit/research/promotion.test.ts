import { describe, expect, it } from "vitest";
import { promotionStatusOf } from "../../../src/research/backtest/promotion.ts";
import { CANDIDATE } from "../../../src/score/candidate.ts";

/**
 * Backtest results over 5 sessions with `dates` weekly dates, the lower bound `low` of the registered
 * interval and the net spread `net`.
 */
const measured = (dates: number, low: number, net: number, assetClass = "stock") =>
  ({
    assetClass,
    step: 5,
    horizons: [
      {
        horizon: 5,
        neutralIc: { dates, interval: { low: -low, high: 0.1 } },
        registeredInterval: { low, high: 0.1 },
        book: {
          net: [
            { costBp: 0, mean: 1 },
            { costBp: 10, mean: net },
          ],
        },
      },
    ],
  }) as unknown as Parameters<typeof promotionStatusOf>[0];

const LIVE = { subject: CANDIDATE.name, from: "2026-11-24" } as const;

describe("the registered rule for promoting the candidate method", () => {
  it("is met when the interval lies above 0 and the portfolio earns more than its costs", () => {
    expect(promotionStatusOf(measured(60, 0.001, 0.001), LIVE)).toBe("held");
    expect(promotionStatusOf(measured(60, 0, 0.001), LIVE)).toBe("failed");
    expect(promotionStatusOf(measured(60, 0.001, 0), LIVE)).toBe("failed");
  });

  it("gives no result before 252 sessions", () => {
    expect(promotionStatusOf(measured(50, 0.001, 0.001), LIVE)).toBe("too_early");
    expect(promotionStatusOf(measured(51, 0.001, 0.001), LIVE)).toBe("held");
  });

  it("does not count sessions up to the registration date", () => {
    const known = { ...LIVE, from: CANDIDATE.registered };
    expect(promotionStatusOf(measured(500, 0.001, 0.001), known)).toBe("not_live");
  });

  it("does not apply to another subject or asset class", () => {
    expect(
      promotionStatusOf(measured(60, 1, 1), { ...LIVE, subject: "composite" }),
    ).toBeUndefined();
    expect(promotionStatusOf(measured(60, 1, 1, "crypto"), LIVE)).toBeUndefined();
  });
});
