import { expect, it } from "vitest";
import { figuresAnswer } from "../../../src/answers/track-record.ts";
import { neweyWestError } from "../../../src/grading/series-summary.ts";
import { recordFigures, recordTerms } from "../../../src/grading/track-record.ts";
import { GradedRuns } from "../../../src/log/graded-runs.ts";
import { EntryVerifier } from "../../../src/log/verify/entry-verifier.ts";
import { readLeaf } from "../../../src/log/verify/read-leaf.ts";
import { checkRecord } from "../../../src/log/verify/record-check.ts";
import { verifyLog } from "../../../src/log/verify/verify-log.ts";
import { RISK_TABLE } from "../../../src/risk/measured-table.ts";
import { RANGES, rangeOf } from "../../../src/risk/ranges.ts";
import type { RiskTable } from "../../../src/risk/table.ts";
import { servedBy } from "../../support/log-source.ts";
import {
  closeOf,
  dataFolder,
  Sessions,
  signalLog,
  verifierTextOf,
} from "../../support/signal-log.ts";
import { describeStores, model, openStore } from "../../support/stores.ts";

const SYMBOLS = Array.from({ length: 12 }, (_, at) => `S${String.fromCharCode(65 + at)}`);

/** A table of ranges half as wide. */
const NARROWER: RiskTable = {
  ...RISK_TABLE,
  classes: {
    ...RISK_TABLE.classes,
    stock: RISK_TABLE.classes.stock.map((one) => ({
      ...one,
      quantiles: one.quantiles.map((quantile) => quantile / 2),
    })),
  },
};

type Log = ReturnType<typeof signalLog>;

async function contentsOf({ store, reader }: Log) {
  const { id = "", size = 0 } = (await reader.checkpoint()) ?? {};
  const leaves: string[] = [];
  while (leaves.length < size) {
    leaves.push(...(await store.entries(id, leaves.length, 256 - (leaves.length % 256))));
  }
  return leaves.map((leaf) => JSON.parse(leaf));
}

/** A log whose ranges became narrower after its tenth session. */
async function played(engine: Parameters<typeof openStore>[0], days = 23) {
  const sessions = new Sessions();
  // As many sessions as a forecast needs.
  for (let day = -260; day < 0; day++) {
    for (const symbol of SYMBOLS) sessions.trade(day, "stock", symbol);
  }
  const store = await openStore(engine);
  const folder = dataFolder();
  const earlier = signalLog(store, sessions, { folder });
  const later = signalLog(store, sessions, { folder, riskTable: NARROWER });
  for (let day = 0; day < days; day++) {
    sessions.close(day, "stock", SYMBOLS);
    await (day < 10 ? earlier : later).settle();
  }
  return { log: later, sessions };
}

/** Share of the returns over five sessions that lay in the ranges that the method of their run registered. */
function coverageIn(contents: Awaited<ReturnType<typeof contentsOf>>) {
  const within = RANGES.map(() => 0);
  let count = 0;
  for (const { kind, status, settlement, signal, fromClose } of contents) {
    if (kind !== "outcome" || status !== "settled" || contents[settlement].horizon !== 5) continue;
    const { sigma, run } = contents[signal];
    const method = contents.slice(0, run).findLast((leaf) => leaf.kind === "method");
    const { quantiles } = method.risk.stock.find((one: { horizon: number }) => one.horizon === 5);
    count += 1;
    for (const [at, probability] of RANGES.entries()) {
      const { low, high } = rangeOf(quantiles, probability, sigma * Math.sqrt(5));
      if (fromClose >= low && fromClose <= high) within[at] = (within[at] ?? 0) + 1;
    }
  }
  return RANGES.map((probability, at) => ({ probability, coverage: (within[at] ?? 0) / count }));
}

describeStores("a log of two methods", (engine) => {
  it("grades each run by the ranges that its own method registered, and verifies", async () => {
    const { log, sessions } = await played(engine);
    const contents = await contentsOf(log);
    expect(contents.filter(({ kind }) => kind === "method")).toHaveLength(2);
    const settled = contents.filter(({ kind, horizon }) => kind === "settlement" && horizon === 5);
    const second = contents.findLastIndex(({ kind }) => kind === "method");
    // Of both methods, and of the first one after the second was registered.
    expect(settled.filter(({ run }) => run > second)).toHaveLength(6);
    expect(settled.filter(({ run }) => run < second)).toHaveLength(10);

    const graded = new GradedRuns(log.store);
    await graded.reload();
    const { figures } = graded.record("stock", 5, recordTerms(0), 0);
    expect(figures.ranges).toEqual(coverageIn(contents));
    const { origin = "" } = (await log.reader.checkpoint()) ?? {};
    const { checks, records } = await verifyLog({
      ...{ source: servedBy(log), keys: [verifierTextOf(origin)], known: undefined },
      ...{ prices: sessions.market, now: () => 0 },
      trackRecord: async () => ({
        ...{ market: "live", simulated: false, origin, size: graded.size },
        beganAt: new Date(closeOf(0)).toISOString(),
        records: [
          {
            ...figuresAnswer(figures),
            ...{ isHeadline: false, expectedAt: null, verdicts: [], nextVerdictAt: null },
          },
        ],
      }),
    });
    expect(records?.find((one) => one.figures.horizon === 5)?.figures).toEqual(figures);
    const of = (name: string) => checks.find((check) => check.name === name)?.outcome;
    expect(["methods", "settlements", "outcomes", "record"].map(of)).toEqual(
      Array.from({ length: 4 }, () => "proved"),
    );
  });

  it("uses the horizons and verdict dates that its first method registered", async () => {
    const { log } = await played(engine, 23);
    const contents = await contentsOf(log);
    const second = contents.findLastIndex(({ kind }) => kind === "method");
    const change = { horizons: { stock: [1] }, verdictDates: [] };
    const verifier = new EntryVerifier({ origin: "", sightings: [] });
    for (const [at, leaf] of contents.entries()) {
      const { record } = leaf;
      const content = at === second ? { ...leaf, record: { ...record, ...change } } : leaf;
      const sorted = Object.entries(content).sort(([a], [b]) => (a < b ? -1 : 1));
      verifier.add(JSON.stringify(Object.fromEntries(sorted)), () => Buffer.alloc(32));
    }
    // Nothing is overdue by the horizons of the second.
    const settlements = verifier.checks().find(({ name }) => name === "settlements");
    expect(settlements).toMatchObject({ outcome: "proved" });
    const [record] = verifier.records(contents.length);
    expect(record?.figures).toMatchObject({ horizon: 5, runs: 16 });
    expect(record?.terms.verdictDates).toHaveLength(5);
    expect(record?.terms.verdictDates.map((at) => new Date(at).toISOString())).toEqual(
      contents[0].record.verdictDates,
    );
  });

  it("has no result of the later method in a run that the earlier method began", async () => {
    const store = await openStore(engine);
    const sessions = new Sessions();
    const folder = dataFolder();
    const symbols = Array.from({ length: 600 }, (_, at) => `T${String(at).padStart(3, "0")}`);
    sessions.close(0, "stock", symbols);
    const earlier = signalLog(store, sessions, { folder });
    const isOpen = async () => ((await earlier.store.state())?.value.open ?? null) !== null;
    while (!(await isOpen())) await earlier.writer.tick();
    await earlier.writer.tick();
    // What the next process reads was recorded by another method than the run names.
    const { snapshots } = sessions;
    const other = {
      ...snapshots,
      lastAt: (symbol: string, at: number) => {
        const found = snapshots.lastAt(symbol, at);
        return found && { ...found, methodVersion: "0.9.0" };
      },
    };
    const later = signalLog(store, sessions, { folder, snapshots: other });
    await later.settle();
    const signals = (await contentsOf(later)).filter(({ kind }) => kind === "signal");
    expect(signals).toHaveLength(600);
    const failed = signals.map(({ status }) => status === "failed");
    const first = failed.indexOf(true);
    expect(first).toBeGreaterThan(0);
    expect(failed.slice(first)).toEqual(failed.slice(first).map(() => true));
  });
});

it("after a failed step, the log counts as behind only while a session is not logged", async () => {
  const sessions = new Sessions();
  sessions.close(0, "stock", SYMBOLS);
  const { records, archive } = await openStore(model);
  let isBroken = false;
  const broken: typeof records = Object.create(records, {
    get: {
      value: (...args: Parameters<typeof records.get>) => {
        if (isBroken) throw new Error("the disk is full");
        return records.get(...args);
      },
    },
  });
  const log = signalLog({ records: broken, archive }, sessions);
  await log.settle();
  expect(log.writer.isBehind).toBe(false);
  isBroken = true;
  await expect(log.writer.tick()).rejects.toThrow("the disk is full");
  expect(log.writer.isBehind).toBe(false);

  sessions.close(1, "stock", SYMBOLS);
  await expect(log.writer.tick()).rejects.toThrow("the disk is full");
  expect(log.writer.isBehind).toBe(true);
  isBroken = false;
  await log.settle();
  expect(log.writer.isBehind).toBe(false);
});

/** The state of a log as versions wrote it that did not note methods, settlements and when it began. */
async function writeEarlierState(log: Log) {
  const state = await log.store.state();
  if (state === undefined) throw new Error("there is no log");
  const { method: _, record: __, beganAt: ___, ...value } = state.value;
  const unsettled = value.unsettled.map(({ method: ____, settlements: _____, ...run }) => run);
  await log.store.start(state, { ...value, createdAt: closeOf(0), unsettled } as never);
}

describeStores("a log of an earlier version", (engine) => {
  it("continues, and grades each run by the method that was in force for it", async () => {
    const { log, sessions } = await played(engine, 14);
    await writeEarlierState(log);
    for (let day = 14; day < 40; day++) {
      sessions.close(day, "stock", SYMBOLS);
      await log.settle();
    }
    const contents = await contentsOf(log);
    // Settled by the earlier version, begun by it, and begun since.
    expect(
      contents.filter(({ kind, horizon }) => kind === "settlement" && horizon === 5).length,
    ).toBe(33);
    const graded = new GradedRuns(log.store);
    await graded.reload();
    const { figures } = graded.record("stock", 5, recordTerms(0), 0);
    expect(figures.ranges).toEqual(coverageIn(contents));
    const { origin = "" } = (await log.reader.checkpoint()) ?? {};
    const { checks, records } = await verifyLog({
      ...{ source: servedBy(log), keys: [verifierTextOf(origin)], known: undefined },
      ...{ prices: sessions.market, now: () => 0 },
    });
    expect(checks.filter(({ outcome }) => outcome === "failed")).toEqual([]);
    expect(records?.find((one) => one.figures.horizon === 5)?.figures).toEqual(figures);
  });
});

it("methods from before settlements and corrections existed can be parsed", () => {
  const method = {
    ...{ at: "2026-01-01T00:00:00.000Z", kind: "method", market: "live", methodHash: "a" },
    settings: { signal: { thresholds: { exitLong: 55, exitShort: 45 } } },
    v: 1,
  };
  expect(readLeaf(JSON.stringify(method))).toMatchObject({ kind: "method" });
  const record = {
    horizons: { stock: [5, 21] },
    rules: { significance: 0.05 },
    verdictDates: ["2027-01-01T00:00:00.000Z"],
  };
  const { at, kind, market, methodHash, settings, v } = method;
  const text = JSON.stringify({ at, kind, market, methodHash, record, settings, v });
  expect(readLeaf(text)).toMatchObject({ record: { rules: { correctedWithin: 10 } } });
});

it("a verdict on a class without outcomes, or on another horizon, is detected", () => {
  const terms = recordTerms(0);
  const entries = { skipped: 0, terms, records: () => [] };
  const answer = (change: object) => ({
    ...{
      market: "live",
      simulated: false,
      origin: "o",
      beganAt: "1970-01-01T00:00:00.000Z",
      size: 9,
    },
    records: [
      {
        ...figuresAnswer(recordFigures("stock", 21, [], 0)),
        ...{ isHeadline: true, expectedAt: null, verdicts: [], nextVerdictAt: null },
        ...change,
      },
    ],
  });
  const outcomeOf = (change: object) => checkRecord(entries, 9, answer(change)).outcome;
  const [at = 0] = terms.verdictDates;
  const verdict = { at: new Date(at).toISOString(), isFinal: true };
  expect(outcomeOf({})).toBe("not_proved");
  expect(outcomeOf({ verdicts: [{ ...verdict, verdict: "insufficient_data" }] })).toBe(
    "not_proved",
  );
  expect(outcomeOf({ verdicts: [{ ...verdict, verdict: "evidence_for" }] })).toBe("failed");
  expect(outcomeOf({ isHeadline: false })).toBe("failed");
});

it("a standard error with a lag longer than the series is computed in bounded time", () => {
  expect(neweyWestError([1, 2, 4], 2 ** 50)).toBeGreaterThan(0);
});
