import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Market } from "../../../src/market/market.ts";
import type { InstrumentRecords } from "../../../src/market/records.ts";
import { createEngine } from "../../../src/score/engine.ts";
import type { Snapshot } from "../../../src/score/snapshot.ts";

const DAY_MS = 86_400_000;
const SESSIONS = 270;

/** Any number that a source may give, extremes included. */
const finite = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(0, -0, 1, -1, 5e-324, 1.7e308, -1.7e308, 1e-9, 1e15),
);
const positive = finite.map((value) => Math.min(1.7e308, Math.max(5e-324, Math.abs(value))));

/** What one instrument's feeds say, over and over. */
const feeds = fc.record({
  isCoin: fc.boolean(),
  sector: fc.constantFrom("Tools", "Financials", "Information Technology"),
  prices: fc.array(positive, { minLength: 1, maxLength: 9 }),
  figures: fc.array(finite, { minLength: 1, maxLength: 9 }),
  sizes: fc.array(positive, { minLength: 1, maxLength: 9 }),
});
type Feeds = typeof feeds extends fc.Arbitrary<infer T> ? T : never;

const METRICS = ["netIncome", "equity", "shares"] as const;

function recordsOf({ isCoin, sector, prices, figures, sizes }: Feeds, index: number) {
  const at = <T>(list: readonly T[], position: number) => list[position % list.length] as T;
  const days = [...Array(SESSIONS).keys()];
  const ends = days.map((day) => (day + 1) * DAY_MS);
  const records: InstrumentRecords = {
    instrument: {
      symbol: `S${index}`,
      name: "Any",
      assetClass: isCoin ? "crypto" : "stock",
      exchange: null,
      currency: "USD",
      sector: isCoin ? null : sector,
    },
    bars: ends.map((availableAt, day) => {
      const [close, before] = [at(prices, day), at(prices, day + prices.length - 1)];
      const logReturn = day === 0 ? null : Math.log(close) - Math.log(before);
      const [high, low] = [Math.max(close, before), Math.min(close, before)];
      const flow = { volume: at(sizes, day), dividend: 0, split: 1 };
      return {
        session: `${1e4 + day}`,
        availableAt,
        open: before,
        high,
        low,
        close,
        ...flow,
        logReturn,
      };
    }),
    fundamentals: ends.flatMap((availableAt, day) =>
      day % 91 !== 5
        ? []
        : METRICS.map((metric, which) => {
            const value = at(figures, day + which);
            return { metric, periodEnd: availableAt - 30 * DAY_MS, availableAt, value };
          }),
    ),
    mentions: ends.map((availableAt, day) => ({
      id: `${day}`,
      availableAt: availableAt - 7,
      text: day % 2 === 0 ? "strong rally" : `weak ${day}`,
      author: day % 3 === 0 ? "one" : `${day}`,
      followers: Math.floor(Math.min(1e15, at(sizes, day))),
      symbolCount: 1 + (day % 3),
      stance: day % 5 === 0 ? "bullish" : null,
    })),
    prints: ends.map((availableAt, day) => ({
      id: `${day}`,
      session: `${1e4 + day}`,
      tradedAt: availableAt - 9,
      availableAt: availableAt - 9,
      price: at(prices, day),
      sizeShares: at(sizes, day),
      venue: "TEST",
      conditions: "",
      bid: at(prices, day + 1),
      ask: at(prices, day + 2),
      canceled: false,
      signable: true,
    })),
    shortVolumes: ends.map((availableAt, day) => {
      const totalShares = at(sizes, day);
      return { session: `${1e4 + day}`, availableAt, shortShares: totalShares / 3, totalShares };
    }),
    onChain: ends.map((availableAt, day) => ({
      session: `${1e4 + day}`,
      availableAt,
      mvrv: at(figures, day),
      nvt: at(figures, day + 1),
      marketCapUsd: at(figures, day + 2),
    })),
  };
  return records;
}

/** Every number anywhere in a value, with the way to it. */
function* numbersIn(value: unknown, path = ""): Generator<readonly [string, number]> {
  if (typeof value === "number") yield [path, value];
  if (value instanceof Map) yield* numbersIn([...value], path);
  if (value === null || typeof value !== "object") return;
  for (const [name, member] of Object.entries(value)) yield* numbersIn(member, `${path}/${name}`);
}

describe("the engine, whatever finite numbers it is fed", () => {
  it("never gives NaN or Infinity, and keeps every score within its bounds", () => {
    fc.assert(
      fc.property(fc.array(feeds, { minLength: 2, maxLength: 4 }), (kinds) => {
        // Enough peers for tables, in as many versions as there are kinds.
        const records = Array.from({ length: 36 }, (_, index) =>
          recordsOf(kinds[index % kinds.length] as Feeds, index),
        );
        const market: Market = {
          mode: "files",
          source: { id: "any", name: "Any", terms: "", simulated: false },
          dayMs: DAY_MS,
          recordsUntil: () => records,
          sessionAt: (at) => `${1e4 + Math.floor(at / DAY_MS)}`,
          walkStart: () => (SESSIONS - 2) * DAY_MS,
        };
        const snapshots: Snapshot[] = [];
        const keep = (snapshot: Snapshot) => void snapshots.push(snapshot);
        const engine = createEngine(market, { clear: () => {}, addClosed: keep, setNewest: keep });
        engine.refresh(SESSIONS * DAY_MS + 1);
        expect(snapshots.length).toBeGreaterThan(36);
        for (const snapshot of snapshots) {
          const inputs = Object.values(snapshot.factors).flatMap((factor) => factor.inputs);
          const { instrument: _, ...all } = { ...snapshot, inputs };
          const wrong = [...numbersIn(all)].filter(([, value]) => !Number.isFinite(value));
          expect(wrong).toEqual([]);
          expect(snapshot.score).toBeGreaterThanOrEqual(0);
          expect(snapshot.score).toBeLessThanOrEqual(100);
          expect(snapshot.confidence).toBeGreaterThanOrEqual(0);
          expect(snapshot.confidence).toBeLessThanOrEqual(1);
        }
      }),
      { seed: 17, numRuns: 25, endOnFailure: true },
    );
  });
});
