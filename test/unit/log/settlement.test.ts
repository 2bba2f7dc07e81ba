import { describe, expect, it } from "vitest";
import { trackRecordAnswer } from "../../../src/answers/track-record.ts";
import { TRACK_RECORD_HORIZON_SESSIONS } from "../../../src/grading/run-grade.ts";
import { trackRecordTerms } from "../../../src/grading/track-record.ts";
import { SignalLog } from "../../../src/log/signal-log.ts";
import type { DataSource } from "../../../src/market/market.ts";
import { runningMethod } from "../../../src/method/running.ts";
import {
  answeredClaims,
  answeredTrackRecord,
  gradedRunsOf,
  stockFigures,
} from "../../support/answered-track-record.ts";
import { verified } from "../../support/log-source.ts";
import {
  closeOf,
  DAY_MS,
  dataFolder,
  type SignalLog as Log,
  Sessions,
  signalLog,
} from "../../support/signal-log.ts";
import { embedded, model, openStore } from "../../support/stores.ts";

const { methodHash } = runningMethod();

const SYMBOLS = Array.from({ length: 12 }, (_, at) => `S${String.fromCharCode(65 + at)}`);

/** Closes `count` sessions of all instruments, and logs each session before the next closes. */
async function play(log: Log, sessions: Sessions, from: number, count: number) {
  for (let day = from; day < from + count; day++) {
    sessions.close(day, "stock", SYMBOLS);
    await log.settle();
  }
}

const iso = (day: number) => new Date(closeOf(day)).toISOString();

describe("logged settlements of decisions", () => {
  it("are added once the return period has ended and suspect prices are confirmed", async () => {
    const sessions = new Sessions();
    const log = signalLog(await openStore(embedded), sessions);
    await play(log, sessions, 0, 7);
    expect((await log.contents()).filter(({ kind }) => kind === "settlement")).toEqual([]);
    await play(log, sessions, 7, 1);

    const contents = await log.contents();
    const index = contents.findIndex(({ kind }) => kind === "settlement");
    const run = contents.findIndex(({ kind }) => kind === "run");
    expect(contents[index]).toMatchObject({
      ...{ assetClass: "stock", horizon: 5, run, results: SYMBOLS.length },
      ...{ close: iso(0), entry: iso(1), exit: iso(6) },
    });
    const outcomes = contents.slice(index + 1);
    expect(outcomes).toHaveLength(SYMBOLS.length);
    for (const [at, outcome] of outcomes.entries()) {
      const symbol = SYMBOLS[at] as string;
      const bars = sessions.market.recordsUntil(0).find((one) => one.instrument.symbol === symbol);
      const prices = [...(bars?.bars ?? [])].map(({ close }) => close);
      expect(outcome).toMatchObject({ kind: "outcome", settlement: index, status: "settled" });
      expect(contents[outcome.signal]).toMatchObject({ kind: "signal", run, symbol });
      const [entry, exit, start] = [prices[1] ?? 0, prices[6] ?? 0, prices[0] ?? 0];
      expect(outcome.followed).toBeCloseTo(Math.log(exit / entry), 12);
      expect(outcome.fromClose).toBeCloseTo(Math.log((prices[5] ?? 0) / start), 12);
    }
  });

  it("go on without a run that is not stored, which is reported once", async () => {
    const sessions = new Sessions();
    const on = await openStore(embedded);
    const log = signalLog(on, sessions);
    await play(log, sessions, 0, 7);
    expect(await on.store.archive.prune("log-run", closeOf(1))).toBe(1);
    await play(log, sessions, 7, 3);
    const settled = (await log.contents()).filter(({ kind }) => kind === "settlement");
    expect(settled.map(({ close }) => close)).toEqual([iso(1), iso(2)]);
    expect(log.missing).toEqual([closeOf(0)]);
  });

  it("are not lost to a sandbox that is started years after its last run", async () => {
    const sessions = new Sessions();
    // The sandbox year has 73 sessions.
    const market = { ...sessions.market, mode: "sandbox", dayMs: DAY_MS / 5 } as const;
    const log = signalLog(await openStore(embedded), sessions, { market });
    await play(log, sessions, 0, 10);
    // Entries of the first five sessions would be older than three years.
    await play(log, sessions, 5 + 3 * 73, 20);
    const settled = (await log.contents()).filter(({ kind }) => kind === "settlement");
    const [, longer] = TRACK_RECORD_HORIZON_SESSIONS.stock;
    const ofLonger = settled.filter(({ horizon }) => horizon === longer);
    expect(ofLonger.map(({ close }) => close)).toEqual([0, 1, 2, 3, 4, 5, 6].map(iso));
    expect(log.missing).toEqual([]);
  });

  it("do not keep a sandbox from deleting old runs if one of them is not stored", async () => {
    const sessions = new Sessions();
    const market = { ...sessions.market, mode: "sandbox", dayMs: DAY_MS / 5 } as const;
    const on = await openStore(embedded);
    const log = signalLog(on, sessions, { market });
    await play(log, sessions, 0, 10);
    expect(await on.store.archive.prune("log-run", closeOf(1))).toBe(1);
    await play(log, sessions, 10, 50);
    await play(log, sessions, 4 * 73, 1);
    const [oldest] = await on.store.archive.read("log-run", { order: "oldest", limit: 1 });
    expect(log.missing).toEqual([closeOf(0)]);
    expect(oldest?.at).toBe(closeOf(27));
  });

  it("are verified from the log entries alone, together with the figures of the track record", async () => {
    const sessions = new Sessions();
    const log = signalLog(await openStore(embedded), sessions);
    await play(log, sessions, 0, 30);
    const look = (change: object) =>
      verified(log, {
        prices: sessions.market,
        trackRecord: () => answeredTrackRecord(log, change),
      });
    const honest = await look({});
    expect(honest.failures).toEqual([]);
    expect(honest.outcomes).toMatchObject({
      ...{ runs: "proved", settlements: "proved", outcomes: "proved", record: "proved" },
    });
    const graded = await gradedRunsOf(log);
    const figures = TRACK_RECORD_HORIZON_SESSIONS.stock.map((one) => stockFigures(graded, one));
    expect(honest.records?.map((one) => one.figures)).toEqual(figures);
    expect((await look({ hitRate: 0.9 })).check("record")).toMatchObject({ outcome: "failed" });
    expect((await look({ runs: 90 })).check("record")).toMatchObject({ outcome: "failed" });
    // A record of only three runs must have the figures of those three runs, which differ from
    // these figures.
    expect((await look({ runs: 3 })).check("record")).toMatchObject({ outcome: "failed" });
    const verdicts = [{ at: iso(365), verdict: "evidence_for", isFinal: true }];
    expect((await look({ verdicts })).check("record")).toMatchObject({ outcome: "failed" });
  });

  it("state when a decision has no outcome, and where a price series ended", async () => {
    const sessions = new Sessions();
    const log = signalLog(await openStore(embedded), sessions);
    const trade = (day: number, symbols: readonly string[]) => {
      sessions.close(day, "stock", SYMBOLS.slice(3));
      for (const symbol of symbols) sessions.close(day, "stock", [symbol]);
      return log.settle();
    };
    const [early, late, never] = SYMBOLS as [string, string, string];
    await trade(0, [early, late, never]);
    await trade(1, [early, late, never]);
    for (let day = 2; day < 8; day++) await trade(day, day < 4 ? [early] : []);

    const outcomes = (await log.contents()).filter(({ kind }) => kind === "outcome");
    expect(outcomes.find(({ symbol }) => symbol === early)).toMatchObject({
      ...{ status: "settled", lastPrice: iso(3).slice(0, 10) },
    });
    expect(outcomes.find(({ symbol }) => symbol === late)).toMatchObject({ status: "unsettled" });
    expect(outcomes.filter(({ lastPrice }) => lastPrice === null)).toHaveLength(9);
  });

  it("are completed by the next process when a process ends in the middle of a settlement", async () => {
    const store = await openStore(embedded);
    const sessions = new Sessions();
    const folder = dataFolder();
    const symbols = Array.from({ length: 600 }, (_, at) => `T${at}`);
    const first = signalLog(store, sessions, { folder });
    for (let day = 0; day < 8; day++) {
      sessions.close(day, "stock", symbols);
      if (day < 7) await first.settle();
    }
    await first.writeUntil("open settlement");
    await first.writer.tick();

    // The next process does not know the last session at first, and must not log outcomes until it
    // does.
    let isKnown = false;
    const knownUntil = () => closeOf(isKnown ? 7 : 6);
    const second = signalLog(store, sessions, { folder, knownUntil });
    await second.settle();
    isKnown = true;
    await second.settle();
    const contents = await second.contents();
    expect(contents.filter(({ kind }) => kind === "settlement")).toHaveLength(1);
    const outcomes = contents.filter(({ kind }) => kind === "outcome");
    expect(outcomes.map(({ symbol }) => symbol)).toEqual([...symbols].sort());
    expect(outcomes.filter(({ status }) => status !== "settled")).toEqual([]);
    const figures = stockFigures(await gradedRunsOf(second));
    expect(figures).toMatchObject({ runs: 1, lateRuns: 0 });
    const { long, short, wait } = figures.calls;
    expect(long + short + wait).toBe(600);
  });

  it("exclude decisions that no checkpoint covered before their return period began", async () => {
    const sessions = new Sessions();
    const log = signalLog(await openStore(embedded), sessions);
    await play(log, sessions, 0, 1);
    for (let day = 1; day < 10; day++) sessions.close(day, "stock", SYMBOLS);
    // Nine sessions are logged only after the last of them has closed.
    await log.settle();
    const [horizon] = TRACK_RECORD_HORIZON_SESSIONS.stock;
    expect(stockFigures(await gradedRunsOf(log), horizon)).toMatchObject({ runs: 1, lateRuns: 2 });
  });
});

it("a settlement that another process continues unnoticed is graded by the outcomes that are logged", async () => {
  const { records, archive } = await openStore(model);
  const sessions = new Sessions();
  const symbols = Array.from({ length: 300 }, (_, at) => `T${String(at).padStart(3, "0")}`);
  // The other process lacks the last price of an instrument.
  const other = signalLog({ records, archive }, sessions, {
    isShared: true,
    market: {
      ...sessions.market,
      recordsUntil: (at) =>
        sessions.market
          .recordsUntil(at)
          .map((one) =>
            one.instrument.symbol === symbols[0] ? { ...one, bars: one.bars.slice(0, 6) } : one,
          ),
    },
  });
  let afterCommit = async () => {};
  const observed: typeof records = Object.create(records, {
    commit: {
      value: async (operations: Parameters<typeof records.commit>[0]) => {
        const isCommitted = await records.commit(operations);
        await afterCommit();
        return isCommitted;
      },
    },
  });
  const log = signalLog({ records: observed, archive }, sessions, { isShared: true });
  for (let day = 0; day < 8; day++) {
    sessions.close(day, "stock", symbols);
    if (day < 7) await log.settle();
    if (day === 6) await other.settle();
  }
  await log.writeUntil("whole run");
  await log.writer.tick();
  // The settlement begins, and the other process appends its first outcomes before the state is
  // read.
  afterCommit = async () => {
    afterCommit = async () => {};
    await other.writer.tick();
  };
  await log.settle();
  const [first] = (await log.contents()).filter(({ kind }) => kind === "outcome");
  expect(first).toMatchObject({ symbol: symbols[0], lastPrice: iso(5).slice(0, 10) });
  const { records: proved = [] } = await verified(log);
  const graded = await gradedRunsOf(log);
  expect(graded.runsOf({ assetClass: "stock", horizon: 5, methodHash })).toEqual(proved[0]?.runs);
});

it("the track record states the earliest open run that can still change it", async () => {
  const { store } = await openStore(model);
  const folder = dataFolder();
  const sessions = new Sessions();
  await play(signalLog(store, sessions, { folder }), sessions, 0, 40);
  const { snapshots, market, knownUntil } = sessions;
  const log = await SignalLog.open({
    store,
    keyring: { keys: () => [] },
    deriveKey: () => new Uint8Array(32),
    scoring: {
      ...{
        snapshots,
        recordableUntil: knownUntil,
        marketNow: knownUntil,
        isProvisional: () => true,
      },
      ...{ market: { ...market, source: { simulated: false } }, updates: { onUpdate: () => {} } },
      waitFor: () => {},
    },
    ...{ folder, baseUrl: "https://log.example", now: () => new Date(knownUntil()) },
  } as never);
  const records = (await log?.trackRecord())?.records ?? [];
  // A run is checked again 33 sessions later, which is 10 sessions after its 21-session outcomes
  // are due.
  const openSince = records.map((one) => [one.figures.assetClass, one.openSince]);
  expect(Object.fromEntries(openSince)).toEqual({ stock: closeOf(7), etf: null, crypto: null });
});

it("the verdicts of a track record can be derived from the log entries", async () => {
  const sessions = new Sessions();
  // The log began almost a year before its first session.
  const beganAt = closeOf(-330);
  let clock = () => beganAt;
  const log = signalLog(await openStore(model), sessions, { marketNow: () => clock() });
  sessions.close(0, "stock", SYMBOLS);
  await log.writer.tick();
  clock = () => sessions.knownUntil() + 1_000;
  await play(log, sessions, 1, 40);
  const { origin = "" } = (await log.reader.checkpoint()) ?? {};
  const runs = await gradedRunsOf(log);
  const terms = trackRecordTerms(beganAt);
  const now = sessions.knownUntil();
  const records = TRACK_RECORD_HORIZON_SESSIONS.stock.map((horizon) => ({
    ...runs.record({ assetClass: "stock", horizon, methodHash }, terms, now),
    ...{ expectedAt: 0, openSince: closeOf(0) },
  }));
  const market = { mode: "live", source: { simulated: false } as DataSource, now } as const;
  const claims = await answeredClaims(log.store, runs, now);
  const known = { origin, beganAt, size: runs.size, terms, records, claims: [] };
  const record = trackRecordAnswer(known, market, undefined);
  // Before the first verdict, the answer for an asset class without a track record refers to the
  // backtest.
  expect(record.note).toBeUndefined();
  const coins = trackRecordAnswer(known, market, "crypto");
  expect(coins.note).toMatch(/evidence of get_signal/);
  const headline = record.records.find(({ isHeadline }) => isHeadline);
  const at = "2026-02-05T00:00:00.000Z";
  const verdict = "insufficient_data";
  expect(headline?.verdicts).toEqual([{ at, verdict, isFinal: false }]);
  const after = { ...known, records: records.map((one) => ({ ...one, openSince: null })) };
  const later = trackRecordAnswer(after, market, "stock").records.find((one) => one.isHeadline);
  expect(later?.verdicts).toEqual([{ at, verdict, isFinal: true }]);
  const look = async (verdicts = headline?.verdicts) => {
    const changed = record.records.map((one) => (one === headline ? { ...one, verdicts } : one));
    const trackRecord = async () => ({ ...record, records: changed, claims });
    return (await verified(log, { trackRecord })).check("record");
  };
  expect(await look()).toMatchObject({ outcome: "proved" });
  for (const verdicts of [[], [{ at, verdict: "evidence_for" as const, isFinal: false }]]) {
    expect(await look(verdicts)).toMatchObject({ outcome: "failed" });
  }
});
