import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { measureListedMomentum } from "../../../src/factors/momentum.ts";
import {
  addBar,
  createPriceHistories,
  readMomentumSums,
  recomputeSumsAndPeak,
} from "../../../src/factors/price-history.ts";
import {
  historyOf,
  referenceBars,
  referenceMarket,
  runningHistory,
  withCorporateActions,
} from "./reference.ts";

describe("the price history of a stock", () => {
  it("matches the worked example: ram 1.767178, res 1.308312, hi52 -.071089, 12-1 log return .18632551", () => {
    const measured = measureListedMomentum(historyOf(referenceBars()));
    expect(measured?.ram).toBeCloseTo(1.767178, 6);
    expect(measured?.res).toBeCloseTo(1.308312, 6);
    expect(measured?.hi52).toBeCloseTo(-0.071089, 6);
    expect(measured?.return12m1).toBeCloseTo(0.18632551, 8);
    expect(measured?.observations).toBe(231);
  });

  it("has the moments of the worked example: variance 4.81252e-5, beta .452520", () => {
    const { n, r, m, rr, mm, rm } = readMomentumSums(historyOf(referenceBars()));
    expect(rr / n - (r / n) ** 2).toBeCloseTo(4.81252e-5, 10);
    const beta = (rm / n - (r / n) * (m / n)) / (mm / n - (m / n) ** 2);
    expect(beta).toBeCloseTo(0.45252, 6);
    expect(0.66 * beta + 0.34).toBeCloseTo(0.638663, 6);
  });

  it("is unaffected by splits and dividends", () => {
    const adjusted = measureListedMomentum(historyOf(withCorporateActions(referenceBars())));
    expect(adjusted?.ram).toBeCloseTo(1.767178, 6);
    expect(adjusted?.res).toBeCloseTo(1.308312, 6);
    expect(adjusted?.hi52).toBeCloseTo(-0.071089, 6);
  });

  it("requires 252 closes", () => {
    expect(measureListedMomentum(historyOf(referenceBars(251)))).toBeUndefined();
    expect(measureListedMomentum(historyOf(referenceBars(252)))?.observations).toBe(230);
  });

  it("requires 200 usable returns in the window", () => {
    const broken = (from: number) =>
      referenceBars().map((bar, index) =>
        index >= from && index < 95 ? { ...bar, logReturn: 0.9 } : bar,
      );
    expect(measureListedMomentum(historyOf(broken(60)))).toBeUndefined();
    expect(measureListedMomentum(historyOf(broken(64)))?.observations).toBe(200);
  });

  it("is undefined for a price that never moves", () => {
    const still = referenceBars().map((bar) => ({ ...bar, logReturn: bar.logReturn && 0 }));
    expect(measureListedMomentum(historyOf(still))).toBeUndefined();
  });

  it("excludes the last month from ram and res", () => {
    const crashed = referenceBars().map((bar, index) =>
      index > 278 ? { ...bar, logReturn: -0.5 } : bar,
    );
    const measured = measureListedMomentum(historyOf(crashed));
    expect(measured?.ram).toBeCloseTo(1.767178, 6);
    expect(measured?.res).toBeCloseTo(1.308312, 6);
    expect(measured?.hi52).toBeLessThan(-10);
  });

  it("has no residual return when the market is the stock itself or does not move", () => {
    const bars = referenceBars();
    const own = bars.map(({ logReturn }) => Math.fround(logReturn ?? 0));
    expect(measureListedMomentum(historyOf(bars, own))?.res).toBeUndefined();
    expect(
      measureListedMomentum(
        historyOf(
          bars,
          bars.map(() => 0),
        ),
      )?.res,
    ).toBeUndefined();
  });

  it("equals a full recomputation at every bar, even far beyond the length of its ring buffers", () => {
    const value = fc.double({ min: -0.5, max: 0.5, noNaN: true });
    fc.assert(
      fc.property(value, value, fc.integer({ min: 252, max: 1_500 }), (a, b, length) => {
        const running = runningHistory(
          Array.from({ length }, (_, t) => ({
            high: 1 + Math.abs(a * Math.sin(t * 3)),
            close: 1,
            open: 1,
            low: 1,
            dividend: 0,
            logReturn: t === 0 ? null : a * Math.sin(t) + b * Math.cos(t ** 2),
          })),
        );
        const before = measureListedMomentum(running);
        expect(recomputeSumsAndPeak(running, referenceMarket)).toBeLessThan(1e-12);
        const after = measureListedMomentum(running);
        expect(after === undefined).toBe(before === undefined);
        expect(after?.observations).toBe(before?.observations);
        expect(after?.ram ?? 0).toBeCloseTo(before?.ram ?? 0, 6);
        expect(after?.hi52 ?? 0).toBeCloseTo(before?.hi52 ?? 0, 12);
      }),
      { seed: 3, numRuns: 100 },
    );
  });

  it("does not mix the ring buffers of two instruments", () => {
    const next = createPriceHistories();
    const [first, second] = [next(), next()];
    for (const [session, bar] of referenceBars().entries()) {
      addBar(first, bar, { session, market: referenceMarket });
      const mirrored = { ...bar, logReturn: bar.logReturn && -bar.logReturn };
      addBar(second, mirrored, { session, market: referenceMarket });
    }
    expect(measureListedMomentum(first)?.ram).toBeCloseTo(1.767178, 6);
    expect(measureListedMomentum(second)?.ram).toBeCloseTo(-1.767178, 6);
  });
});
