import { describe, expect, it } from "vitest";
import { recentVolatility } from "../../../src/factors/price-history.ts";
import { closeOf, DAYS, METHOD_MARKET, SCORED_FROM } from "../../../src/method/invented-market.ts";
import { exposurePercentiles } from "../../../src/score/exposures.ts";
import { historyOf, referenceBars } from "../factors/reference.ts";
import { closedSnapshots } from "./markets.ts";

describe("the exposures of the stocks of a close", () => {
  it("are 100 (rank - 0.5) / n among the stocks that have a value, with mean ranks for ties", () => {
    const beta = Float64Array.of(3, Number.NaN, 1, 2, 2);
    const volatility = Float64Array.of(5, 4, 3, 2, 1);
    const dollarVolume = Float64Array.of(7, 7, 7, 7, Number.POSITIVE_INFINITY);
    expect(exposurePercentiles({ beta, volatility, dollarVolume })).toEqual([
      { beta: 87.5, volatility: 90, dollarVolume: 50 },
      { beta: null, volatility: 70, dollarVolume: 50 },
      { beta: 12.5, volatility: 50, dollarVolume: 50 },
      { beta: 50, volatility: 30, dollarVolume: 50 },
      { beta: 50, volatility: 10, dollarVolume: null },
    ]);
  });

  it("measure the volatility of 63 sessions, or of fewer from 32 returns on", () => {
    const bars = referenceBars(100);
    for (const length of [32, 33, 50, 64, 100]) {
      const known = bars.slice(0, length);
      const own = known.flatMap(({ logReturn }) => logReturn ?? []).slice(-63);
      const found = recentVolatility(historyOf(known), 63, 32);
      if (length === 32) expect(found).toBeNaN();
      else {
        const squares = own.reduce((sum, value) => sum + value ** 2, 0);
        expect(found).toBeCloseTo(Math.sqrt(squares / own.length), 8);
      }
    }
  });

  it("are those of the stocks that traded, and of no coin or fund", () => {
    const at = closeOf(DAYS);
    const closed = closedSnapshots(METHOD_MARKET, [closeOf(SCORED_FROM), at]).filter(
      (snapshot) => snapshot.at === at,
    );
    const traded = closed.filter(
      ({ instrument, price }) => instrument.assetClass === "stock" && price?.at === at,
    );
    const volumes = traded.map(({ instrument }) => {
      const records = METHOD_MARKET.recordsUntil(at).find(
        (one) => one.instrument.symbol === instrument.symbol,
      );
      let mean: number | undefined;
      for (const { close, volume } of records?.bars ?? []) {
        const kept = 2 ** (-1 / 21);
        mean = mean === undefined ? close * volume : kept * mean + (1 - kept) * close * volume;
      }
      return mean ?? 0;
    });
    expect(traded.length).toBeGreaterThan(1);
    for (const [index, { exposures }] of traded.entries()) {
      const rank = 1 + volumes.filter((one) => one < (volumes[index] ?? 0)).length;
      expect(exposures?.dollarVolume).toBeCloseTo((100 * (rank - 0.5)) / traded.length, 9);
    }
    for (const snapshot of closed) {
      if (!traded.includes(snapshot)) expect(snapshot.exposures).toBeUndefined();
    }
  });
});
