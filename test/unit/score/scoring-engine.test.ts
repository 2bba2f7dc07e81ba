import { describe, expect, it } from "vitest";
import { DAY_MS } from "../../../src/lib/day.ts";
import type { Market } from "../../../src/market/market.ts";
import type { Bar, InstrumentRecords, Mention, Print } from "../../../src/market/records.ts";
import { ScoringEngine } from "../../../src/score/scoring-engine.ts";
import { createSnapshotArchive } from "../../../src/score/snapshot-archive.ts";
import { instrument } from "../../support/instruments.ts";
import { dailyMarket } from "./markets.ts";

const DAYS = 90;
/** Time after UTC midnight at which sessions close, in milliseconds: 20:00 UTC. */
const CLOSE_MS = 20 * 3_600_000;
const closeOf = (day: number) => day * DAY_MS + CLOSE_MS;
const label = (day: number) => String(day).padStart(4, "0");

const bar = (day: number): Bar => ({
  session: label(day),
  availableAt: closeOf(day),
  open: 100,
  high: 101 + (day % 5),
  low: 99,
  close: 100 + (day % 3),
  volume: 1_000_000,
  dividend: 0,
  split: 1,
  logReturn: day === 0 ? null : Math.log((100 + (day % 3)) / (100 + ((day - 1) % 3))),
});

/** One block at noon and, on every third day, another block reported after the close. */
const printsOf = (day: number): Print[] =>
  [12, ...(day % 3 === 0 ? [21] : [])].map((hour) => ({
    id: `${day}-${hour}`,
    session: label(day),
    tradedAt: day * DAY_MS + hour * 3_600_000,
    availableAt: day * DAY_MS + hour * 3_600_000,
    price: 100 + ((day * 7 + hour) % 11) / 10,
    sizeShares: 20_000,
    venue: "TEST",
    conditions: "",
    bid: 100,
    ask: 101,
    canceled: false,
    signable: true,
  }));

/** Messages at various hours, some of them after the close. */
const mentionsOf = (day: number): Mention[] =>
  [3, 9, 15, 19, 22].map((hour) => ({
    id: `${day}-${hour}`,
    availableAt: day * DAY_MS + hour * 3_600_000,
    text: `${(day + hour) % 3 === 0 ? "strong rally" : "weak and falling"} ${"ab".repeat(day % 7)}${hour}`,
    author: `a${hour}`,
    followers: hour * 10,
    symbolCount: 1,
    stance: null,
  }));

const days = [...Array(DAYS).keys()];
const records: InstrumentRecords = {
  instrument: instrument("TEST"),
  bars: days.map(bar),
  prints: days.flatMap(printsOf),
  mentions: days.flatMap(mentionsOf),
};

const market = dailyMarket([records], closeOf(30), label);

/** Refreshes at each instant in turn, and returns the final state. */
function refreshed(instants: readonly number[]) {
  const archive = createSnapshotArchive();
  const engine = new ScoringEngine(market, archive);
  for (const at of instants) engine.refresh(at);
  const newest = archive.newest("TEST");
  const inputs = Object.values(newest?.factors ?? {}).map((factor) => factor.inputs);
  return { newest, inputs, history: [...archive.history("TEST", 0, 1e15)] };
}

const HOUR_MS = 3_600_000;
const everyHour = (until: number, step: number) =>
  Array.from(
    { length: Math.floor(until / (step * HOUR_MS)) },
    (_, index) => index * step * HOUR_MS,
  );

describe("the scoring engine", () => {
  it("gives the same result when refreshed in steps of one session, even after an abandoned refresh", () => {
    const archive = createSnapshotArchive();
    const engine = new ScoringEngine(market, archive);
    const givenUp = engine.refreshInSteps(closeOf(60));
    for (let piece = 0; piece < 20; piece++) givenUp.next();
    expect(archive.allNewest()).toEqual([]);
    const at = closeOf(80);
    const pieces = [...engine.refreshInSteps(at)];
    expect(pieces).toHaveLength(81);
    expect([...archive.history("TEST", 0, at)]).toEqual(refreshed([at]).history);
    expect(archive.newest("TEST")).toEqual(refreshed([at]).newest);
  });

  it.each([
    ["at a close", closeOf(80)],
    ["after a close", closeOf(80) + 2 * HOUR_MS],
    ["overnight", closeOf(80) + 7 * HOUR_MS],
    ["during a session", closeOf(80) + 18 * HOUR_MS],
  ])("gives the same result %s, for any number of earlier refreshes", (_when, at) => {
    const direct = refreshed([at]);
    expect(direct.newest?.factors.social.status).toBe("ok");
    expect(direct.newest?.factors.darkpool.status).toBe("ok");
    for (const step of [1, 5, 24, 31])
      expect(refreshed([...everyHour(at, step), at])).toEqual(direct);
  });

  it("determines signals at closes, and keeps each signal until the next close", () => {
    const { newest: closed } = refreshed([closeOf(80)]);
    const { newest: later } = refreshed([closeOf(80) + 3 * HOUR_MS]);
    expect(later?.at).toBe(closeOf(80) + 3 * HOUR_MS);
    expect(later?.signal).toEqual(closed?.signal);
    expect(later?.factors.social.asOf).toBeGreaterThan(closed?.factors.social.asOf ?? 0);
  });

  it("ranks stocks in the tables of the newest close, that of a session included", () => {
    const epochAt = (at: number) => refreshed([at]).newest?.tables?.epoch;
    expect(epochAt(closeOf(80) - HOUR_MS)).toBe(closeOf(79));
    expect(epochAt(closeOf(80))).toBe(closeOf(80));
    expect(epochAt(closeOf(80) + 3 * HOUR_MS)).toBe(closeOf(80));
    expect(epochAt(closeOf(80) + 4 * HOUR_MS)).toBe(closeOf(80));
  });

  it("changes a signal to WAIT after a long trading halt", () => {
    const { newest } = refreshed([closeOf(DAYS + 20)]);
    expect(newest).toMatchObject({
      status: "stale",
      signal: { direction: "WAIT", forcedWait: "not_trading", frozen: true },
      factors: { momentum: { z: null }, social: { status: "stale" } },
    });
  });

  it("records one snapshot per session from the first scored session", () => {
    const { history } = refreshed([closeOf(80) + HOUR_MS]);
    expect(history.map(({ at }) => at)).toEqual(days.slice(30, 81).map(closeOf));
  });
});

describe("the scoring engine with several instruments", () => {
  const symbols = ["A", "B", "C"];
  /** Three instruments. The bars of C arrive one hour late from day 79 on. */
  const several: readonly InstrumentRecords[] = symbols.map((symbol) => ({
    ...records,
    instrument: { ...records.instrument, symbol },
    bars: Array.from(records.bars, (one, day) =>
      symbol === "C" && day >= 79 ? { ...one, availableAt: one.availableAt + HOUR_MS } : one,
    ),
  }));
  const calendar: Market = {
    ...market,
    recordsUntil: () => several,
    barsDue: (after, until) =>
      [...Array(DAYS + 30).keys()].map(closeOf).filter((close) => close > after && close <= until),
  };
  const start = () => {
    const archive = createSnapshotArchive();
    return { archive, engine: new ScoringEngine(calendar, archive) };
  };

  it("closes a session once for stocks and funds together, even without a calendar", () => {
    const fund = { ...records.instrument, symbol: "FUND", assetClass: "etf" as const };
    const both = [records, { instrument: fund, bars: records.bars }];
    const archive = createSnapshotArchive();
    const engine = new ScoringEngine({ ...market, recordsUntil: () => both }, archive);
    engine.refresh(closeOf(80));
    engine.refresh(closeOf(81));
    for (const symbol of ["TEST", "FUND"]) {
      const closes = Array.from(archive.history(symbol, closeOf(79), closeOf(81)), ({ at }) => at);
      expect(closes, symbol).toEqual([79, 80, 81].map(closeOf));
    }
  });

  it("assigns a late bar to the session in which the other instruments traded, not to a new session", () => {
    const { archive, engine } = start();
    engine.refresh(closeOf(80));
    expect(archive.newest("C")).toMatchObject({ status: "stale", signal: { frozen: true } });
    engine.refresh(closeOf(80) + HOUR_MS);
    expect(archive.newest("A")?.status).not.toBe("stale");
    expect(archive.newest("C")?.price?.at).toBe(closeOf(80) + HOUR_MS);
    expect(archive.newest("C")?.status).not.toBe("stale");
    expect(archive.history("A", closeOf(80), closeOf(80) + HOUR_MS)).toHaveLength(1);
  });

  it("treats a calendar session without a bar as missed", () => {
    const { archive, engine } = start();
    engine.refresh(closeOf(DAYS) + 1);
    expect(archive.newest("A")).toMatchObject({ status: "stale", signal: { frozen: true } });
    expect(archive.newest("A")?.at).toBe(closeOf(DAYS) + 1);
  });
});
