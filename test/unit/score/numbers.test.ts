// @module-tag full

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FACTORS } from "../../../src/factors/reading.ts";
import { DAY_MS } from "../../../src/lib/day.ts";
import type {
  Bar,
  Fundamental,
  FundamentalMetric,
  InstrumentRecords,
  Mention,
  OnChainFigures,
  Print,
  ShortVolume,
} from "../../../src/market/records.ts";
import { ScoringEngine } from "../../../src/score/scoring-engine.ts";
import type { Snapshot } from "../../../src/score/snapshot.ts";
import { dailyMarket } from "./markets.ts";

/**
 * Number of sessions, enough for every factor: 252 bars, and 365 days after 90 days
 * of transfers.
 */
const SESSIONS = 470;
const days = [...Array(SESSIONS).keys()];
const endOf = (day: number) => (day + 1) * DAY_MS;
const label = (day: number) => `${1e4 + day}`;

/** Any finite number that a source may supply, including extremes. */
const finite = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(0, -0, 1, -1, 5e-324, -5e-324, 1.7e308, -1.7e308, 1e-9, 1e18),
);

/** Ordinary feeds in which some numbers are replaced with arbitrary numbers. */
const feeds = fc.record({
  isCoin: fc.boolean(),
  sector: fc.constantFrom("Tools", "Financials", "Information Technology"),
  /** Number of values from the start of one replaced pair to the start of the next. */
  every: fc.integer({ min: 1, max: 400 }),
  anything: fc.array(finite, { minLength: 1, maxLength: 9 }),
  phase: fc.double({ min: 0, max: 7, noNaN: true }),
});
type Feeds = typeof feeds extends fc.Arbitrary<infer T> ? T : never;

/**
 * Returns functions that return a given number, except that two consecutive numbers are replaced
 * with arbitrary ones at fixed intervals. `positive` and `atLeast0` also make the result positive
 * or non-negative.
 */
function mixer({ every, anything }: Feeds) {
  let turn = 0;
  const next = (sane: number): number => {
    turn++;
    // Two consecutive numbers are replaced, such as a high and a close, or a bid and an ask.
    return turn % every < 2 ? (anything[turn % anything.length] as number) : sane;
  };
  const positive = (sane: number) => Math.max(5e-324, Math.abs(next(sane)));
  return { next, positive, atLeast0: (sane: number) => Math.abs(next(sane)) };
}
type Mixer = ReturnType<typeof mixer>;

function barsOf({ positive, atLeast0 }: Mixer, phase: number): Bar[] {
  const bars: Bar[] = [];
  for (const day of days) {
    const close = positive(100 * Math.exp(0.1 * Math.sin(day / 9 + phase) + 0.03 * Math.sin(day)));
    const other = positive(close);
    const [dividend, split] = [atLeast0(0), positive(1)];
    const before = bars.at(-1)?.close;
    bars.push({
      ...{ session: label(day), availableAt: endOf(day), open: other, close },
      ...{ high: Math.max(close, other), low: Math.min(close, other), volume: atLeast0(1e6) },
      ...{ dividend, split },
      logReturn: before === undefined ? null : Math.log(((close + dividend) * split) / before),
    });
  }
  return bars;
}

const METRICS: readonly FundamentalMetric[] = [
  ...(["netIncome", "freeCashFlow", "ebitda", "equity", "debt", "cash", "shares"] as const),
];

/** Days of the filings of 12 quarters, which begin before the first bar: enough for a surprise. */
const filingDays = Array.from({ length: 12 }, (_, quarter) => 91 * (quarter - 6) + 5);

const fundamentalsOf = ({ next }: Mixer): Fundamental[] =>
  filingDays.flatMap((day) =>
    METRICS.map((metric, which) => ({
      ...{ metric, periodEnd: endOf(day - 30), availableAt: endOf(day) },
      value: next(1e6 * (which + 1)),
    })),
  );

const mentionsOf = ({ atLeast0 }: Mixer, phase: number): Mention[] =>
  days.flatMap((day) =>
    ["a", "b", "c", "d", "e"].map((author, hour) => ({
      ...{ id: `${day}${author}`, availableAt: endOf(day) - 1_000 * (9 - hour) },
      text: Math.sin(day + hour + phase) > 0 ? `strong rally ${author}${day}` : `weak ${day}`,
      ...{ author: `${author}${day % 4}`, followers: Math.floor(atLeast0(10)) },
      ...{ accountAgeDays: atLeast0(99), symbolCount: 1 + Math.floor(Math.min(atLeast0(0), 1e15)) },
      stance: day % 7 === 0 ? ("bullish" as const) : null,
    })),
  );

const printsOf = ({ positive }: Mixer, phase: number): Print[] =>
  days.map((day) => {
    const price = positive(100 + Math.sin(day * phase));
    const [bid, ask] = [positive(99), positive(101)];
    return {
      ...{
        id: `${day}`,
        session: label(day),
        tradedAt: endOf(day) - 9,
        availableAt: endOf(day) - 9,
      },
      ...{ price, sizeShares: positive(20_000), venue: "TEST", conditions: "", bid, ask },
      ...{ canceled: false, signable: true },
    };
  });

const shortVolumesOf = ({ positive }: Mixer): ShortVolume[] =>
  days.map((day) => {
    const totalShares = positive(1e6);
    const shortShares = totalShares * (0.5 + 0.2 * Math.sin(day));
    return { session: label(day), availableAt: endOf(day), shortShares, totalShares };
  });

const onChainOf = ({ next }: Mixer): OnChainFigures[] =>
  days.map((day) => ({
    ...{ session: label(day), availableAt: endOf(day), mvrv: next(1.5 + Math.sin(day / 50)) },
    ...{ nvt: next(20 + Math.sin(day / 20)), marketCapUsd: next(1e9) },
  }));

function recordsOf(kind: Feeds, index: number): InstrumentRecords {
  const { isCoin, sector, phase } = kind;
  const mix = mixer(kind);
  const instrument = {
    ...{ symbol: `S${index}`, name: "Any", exchange: null, currency: "USD" },
    ...({ assetClass: isCoin ? "crypto" : "stock", sector: isCoin ? null : sector } as const),
  };
  const own = phase + index / 10;
  const common = { instrument, bars: barsOf(mix, own), mentions: mentionsOf(mix, own) };
  const offExchange = { prints: printsOf(mix, own), shortVolumes: shortVolumesOf(mix) };
  return isCoin
    ? { ...common, ...offExchange, onChain: onChainOf(mix) }
    : { ...common, ...offExchange, fundamentals: fundamentalsOf(mix) };
}

/** Yields every number in a value with its member path. */
function* numbersIn(value: unknown, path = ""): Generator<readonly [string, number]> {
  if (typeof value === "number") yield [path, value];
  if (value instanceof Map) yield* numbersIn([...value], path);
  if (value === null || typeof value !== "object") return;
  for (const [name, member] of Object.entries(value)) yield* numbersIn(member, `${path}/${name}`);
}

/** The largest z: 3, or the normal score of the last of 1,001 places of a reference table. */
const MAX_Z = 3.3;

/** Returns a description of each invalid figure in a snapshot. */
function faultsOf(snapshot: Snapshot): readonly string[] {
  const inputs = Object.values(snapshot.factors).flatMap((factor) => factor.inputs);
  const { instrument: _, ...all } = { ...snapshot, inputs };
  const endless = [...numbersIn(all)].filter(([, value]) => !Number.isFinite(value));
  const { score, confidence, coverage, factors } = snapshot;
  const beyond = [
    score !== null && (score < 0 || score > 100),
    confidence < 0 || confidence > 1,
    coverage < 0 || coverage > 1,
    ...FACTORS.map((name) => Math.abs(factors[name].z ?? 0) > MAX_Z),
    ...FACTORS.map((name) => factors[name].confidence < 0 || factors[name].confidence > 1),
    inputs.some(({ z, weight }) => Math.abs(z ?? 0) > MAX_Z || Math.abs(weight) > 1),
  ].some((isBeyond) => isBeyond);
  return [...endless.map(([path, value]) => `${path} ${value}`), ...(beyond ? ["bounds"] : [])];
}

/**
 * Scores enough instruments for peer tables. The instruments use the given variants of the data in
 * turn.
 */
function scored(kinds: readonly Feeds[]): readonly Snapshot[] {
  const records = Array.from({ length: 36 }, (_, index) =>
    recordsOf(kinds[index % kinds.length] as Feeds, index),
  );
  const snapshots: Snapshot[] = [];
  const keep = (snapshot: Snapshot) => void snapshots.push(snapshot);
  const archive = { clear: () => {}, addClosed: keep, setNewest: keep };
  new ScoringEngine(dailyMarket(records, (SESSIONS - 2) * DAY_MS, label), archive).refresh(
    SESSIONS * DAY_MS + 1,
  );
  expect(snapshots.length).toBeGreaterThan(36);
  return snapshots;
}

/** The factors that have a value, each with the asset class. */
const measuredIn = ({ instrument, factors }: Snapshot): readonly string[] =>
  FACTORS.filter((name) => factors[name].z !== null).map(
    (name) => `${instrument.assetClass} ${name}`,
  );

describe("the scoring engine, for any finite input,", () => {
  const measured = new Set<string>();

  it("never returns NaN or Infinity, and keeps every score, z-score and confidence within its bounds", () => {
    fc.assert(
      fc.property(fc.array(feeds, { minLength: 2, maxLength: 4 }), (kinds) => {
        for (const snapshot of scored(kinds)) {
          expect(faultsOf(snapshot)).toEqual([]);
          for (const name of measuredIn(snapshot)) measured.add(name);
        }
      }),
      { seed: 17, numRuns: 15, endOnFailure: true },
    );
  });

  it("is tested with all four factors of both stocks and coins", () => {
    expect(measured.size).toBe(2 * FACTORS.length);
  });
});
