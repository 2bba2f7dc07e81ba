import { describe, expect, it } from "vitest";
import {
  closeOf,
  FEW_STOCKS_MARKET,
  METHOD_MARKET,
  SCORED_FROM,
} from "../../../src/method/invented-market.ts";
import { COIN_STEADINESS_RULES } from "../../../src/score/coin-steadiness.ts";
import type { Snapshot } from "../../../src/score/snapshot.ts";
import { decayFactor } from "../../../src/statistics/statistics.ts";
import { closedSnapshots } from "./markets.ts";

/** Number of scored days. */
const DAYS = 15;
const LAST = closeOf(SCORED_FROM + DAYS);

const coins = FEW_STOCKS_MARKET.recordsUntil(LAST).filter(
  ({ instrument }) => instrument.assetClass === "crypto",
);

/** The snapshots of coins at the closes of the scored days. */
const closedCoins = (market = FEW_STOCKS_MARKET): readonly Snapshot[] =>
  closedSnapshots(
    market,
    Array.from({ length: DAYS + 1 }, (_, day) => closeOf(SCORED_FROM + day)),
  ).filter(({ instrument }) => instrument.assetClass === "crypto");

/** The variances of the coins that traded at a close, by symbol, computed anew from their bars. */
function variancesAt(at: number): ReadonlyMap<string, number> {
  const lambda = decayFactor(1, 30);
  return new Map(
    coins.flatMap(({ instrument: { symbol }, bars }) => {
      const known = [...bars].filter(({ availableAt }) => availableAt <= at);
      if (known.length < 30 || known.at(-1)?.availableAt !== at) return [];
      const variance = known
        .flatMap(({ logReturn }) => logReturn ?? [])
        .filter((one) => Math.abs(one) <= 0.8)
        .reduce<number | undefined>(
          (sum, one) => (sum === undefined ? one ** 2 : lambda * sum + (1 - lambda) * one ** 2),
          undefined,
        );
      return variance === undefined ? [] : [[symbol, variance] as const];
    }),
  );
}

const closed = closedCoins();

describe("the steadiness of coins", () => {
  it("is the share of the coins of the close that vary more, counted from the middle of ranks", () => {
    const counts = new Set<number>();
    for (const { instrument, at, steadiness, tables } of closed) {
      const variances = variancesAt(at);
      const own = variances.get(instrument.symbol);
      expect([...(tables?.coins?.variances ?? [])]).toHaveLength(variances.size);
      if (own === undefined) {
        expect(steadiness, instrument.symbol).toBeUndefined();
        continue;
      }
      const rank = 1 + [...variances.values()].filter((one) => one < own).length;
      expect(steadiness?.value).toBeCloseTo(100 * (1 - (rank - 0.5) / variances.size), 9);
      const { risk, inputs } = steadiness?.evidence ?? expect.fail();
      expect(inputs.variance?.value).toBeCloseTo(own, 12);
      expect([risk.rank, inputs.variance?.rank, inputs.variance?.of]).toEqual([
        ...[rank, rank, variances.size],
      ]);
      expect(steadiness).toMatchObject({ at, peers: variances.size, isReference: false });
      counts.add(variances.size);
    }
    // One coin becomes old enough after another has ended.
    expect([...counts]).toEqual([6, 5]);
  });

  it("is missing where fewer than five coins are measured", () => {
    const few = closedCoins(METHOD_MARKET);
    expect(few.length).toBeGreaterThan(40);
    for (const { steadiness, tables } of few) {
      expect(steadiness).toBeUndefined();
      expect(tables?.coins?.variances.length).toBeLessThan(COIN_STEADINESS_RULES.minCoins);
    }
  });
});
