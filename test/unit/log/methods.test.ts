import canonicalize from "canonicalize";
import { describe, expect, it } from "vitest";
import { trackRecordFiguresAnswer } from "../../../src/answers/track-record.ts";
import { computeTrackRecordFigures, trackRecordTerms } from "../../../src/grading/track-record.ts";
import { methodLeaf, runLeaf, universeLeaves } from "../../../src/log/leaves.ts";
import { EntryVerifier } from "../../../src/log/verify/entry-verifier.ts";
import { parseLeaf } from "../../../src/log/verify/read-leaf.ts";
import { checkTrackRecord } from "../../../src/log/verify/track-record-check.ts";
import type { VerifiedTrackRecord } from "../../../src/log/verify/verified-records.ts";
import { runningMethod } from "../../../src/method/running.ts";
import { RISK_TABLE } from "../../../src/risk/measured-table.ts";
import { logReturnRange, RANGE_PROBABILITIES } from "../../../src/risk/ranges.ts";
import { horizonSigma } from "../../../src/risk/report-days.ts";
import type { RiskTable } from "../../../src/risk/table.ts";
import { neweyWestStandardError } from "../../../src/statistics/series-summary.ts";
import {
  answeredTrackRecord,
  gradedRunsOf,
  stockFigures,
} from "../../support/answered-track-record.ts";
import { verified } from "../../support/log-source.ts";
import {
  closeOf,
  dataFolder,
  Sessions,
  type SignalLog,
  signalLog,
} from "../../support/signal-log.ts";
import { embedded, model, openStore } from "../../support/stores.ts";

const { methodHash } = runningMethod();

const SYMBOLS = Array.from({ length: 12 }, (_, at) => `S${String.fromCharCode(65 + at)}`);

/** A risk table with ranges half as wide. */
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

/** A log whose method changes to narrower ranges after its tenth session. */
async function played(days = 23) {
  const sessions = new Sessions();
  // A forecast requires this many earlier sessions.
  for (let day = -260; day < 0; day++) {
    for (const symbol of SYMBOLS) sessions.trade(day, "stock", symbol);
  }
  const store = await openStore(embedded);
  const folder = dataFolder();
  const earlier = signalLog(store, sessions, { folder });
  const later = signalLog(store, sessions, { folder, riskTable: NARROWER });
  for (let day = 0; day < days; day++) {
    sessions.close(day, "stock", SYMBOLS);
    await (day < 10 ? earlier : later).settle();
  }
  return { log: later, sessions };
}

/**
 * Share of the five-session returns that lay within the ranges registered by the method of their
 * run, over the runs of one method hash.
 */
function coverageIn(contents: Awaited<ReturnType<SignalLog["contents"]>>, of = methodHash) {
  const within = RANGE_PROBABILITIES.map(() => 0);
  let count = 0;
  for (const { kind, status, settlement, signal, fromClose } of contents) {
    if (kind !== "outcome" || status !== "settled" || contents[settlement].horizon !== 5) continue;
    const { sigmas, run } = contents[signal];
    if (contents[run].methodHash !== of) continue;
    const method = contents.slice(0, run).findLast((leaf) => leaf.kind === "method");
    // The first registered horizon is five sessions.
    const [{ horizon, quantiles }] = method.risk.stock;
    expect(horizon).toBe(5);
    count += 1;
    for (const [at, probability] of RANGE_PROBABILITIES.entries()) {
      const { low, high } = logReturnRange(quantiles, probability, sigmas[0]);
      if (fromClose >= low && fromClose <= high) within[at] = (within[at] ?? 0) + 1;
    }
  }
  return RANGE_PROBABILITIES.map((probability, at) => ({
    probability,
    coverage: (within[at] ?? 0) / count,
  }));
}

/** Verifies the entries of a log whose second method registers different terms. */
function verifierOf(contents: readonly { record?: object }[], terms: object): EntryVerifier {
  const second = contents.findLastIndex(({ record }) => record !== undefined);
  const verifier = new EntryVerifier({ origin: "", sightings: [] });
  for (const [at, leaf] of contents.entries()) {
    const content = at === second ? { ...leaf, record: { ...leaf.record, ...terms } } : leaf;
    const sorted = Object.entries(content).sort(([a], [b]) => (a < b ? -1 : 1));
    verifier.add(JSON.stringify(Object.fromEntries(sorted)), () => Buffer.alloc(32));
  }
  return verifier;
}

const settlementsOf = (verifier: EntryVerifier) =>
  verifier.checks().find(({ name }) => name === "settlements");

describe("a signal log with two methods", () => {
  it("grades each run with the ranges that its own method registered, and is verified successfully", async () => {
    const { log, sessions } = await played();
    const contents = await log.contents();
    expect(contents.filter(({ kind }) => kind === "method")).toHaveLength(2);
    const settled = contents.filter(({ kind, horizon }) => kind === "settlement" && horizon === 5);
    const second = contents.findLastIndex(({ kind }) => kind === "method");
    // Settlements of runs of both methods, including runs of the first method that were settled
    // later.
    expect(settled.filter(({ run }) => run > second)).toHaveLength(6);
    expect(settled.filter(({ run }) => run < second)).toHaveLength(10);

    const figures = stockFigures(await gradedRunsOf(log));
    expect(figures.ranges).toEqual(coverageIn(contents));
    const { records, outcomes } = await verified(log, {
      prices: sessions.market,
      trackRecord: () => answeredTrackRecord(log),
    });
    expect(records?.find((one) => one.figures.horizon === 5)?.figures).toEqual(figures);
    expect(outcomes).toMatchObject({
      ...{ methods: "proved", settlements: "proved", outcomes: "proved", record: "proved" },
    });
  });

  it("uses the horizons and verdict dates registered by its first method", async () => {
    const { log } = await played(23);
    const contents = await log.contents();
    const verifier = verifierOf(contents, { horizons: { stock: [1] }, verdictDates: [] });
    // The second method's shorter horizon does not make any settlement overdue.
    expect(settlementsOf(verifier)).toMatchObject({ outcome: "proved" });
    const [record] = verifier.records(contents.length);
    expect(record?.figures).toMatchObject({ horizon: 5, runs: 16 });
    expect(record?.terms.verdictDates).toHaveLength(5);
    expect(record?.terms.verdictDates.map((at) => new Date(at).toISOString())).toEqual(
      contents[0].record.verdictDates,
    );
  });

  it("applies the correction rules of its first method to settlements", async () => {
    const { log } = await played(23);
    const contents = await log.contents();
    const wrong = contents.findLastIndex(({ kind }) => kind === "settlement");
    const { results, run } = contents[wrong];
    expect(run).toBeGreaterThan(contents.findLastIndex(({ kind }) => kind === "method"));
    const outcomes = contents.slice(wrong + 1, wrong + 1 + results);
    const early = [
      ...contents,
      { ...contents[wrong], corrects: wrong },
      ...outcomes.map((one) => ({ ...one, settlement: contents.length })),
    ];
    // Under the second method's terms, the settlements of a run could be corrected as early as
    // three sessions later.
    const rules = { ...contents[0].record.rules, correctedWithin: 0 };
    const verifier = verifierOf(early, { horizons: { stock: [1] }, rules });
    expect(settlementsOf(verifier)).toMatchObject({
      outcome: "failed",
      detail: expect.stringContaining("before it is looked at again"),
    });
  });

  it.each([
    [
      "one that covers fewer horizons than the method registers",
      [0.02],
      "over 1 of the 2 horizons",
    ],
    [
      "one whose ranges do not belong together",
      [0.02, 0.02 * Math.sqrt(20 / 5)],
      "which its method cannot",
    ],
    ["none, and no statement that there is none", undefined, "does not say what it forecasts"],
  ])(
    "fails verification when the method of a decision cannot make the forecast of the decision: %s",
    async (_what, sigmas, says) => {
      const { log } = await played(12);
      const contents = await log.contents();
      const forged = contents.findIndex(({ kind }) => kind === "signal");
      const { sigmas: _, ...leaf } = contents[forged];
      const verifier = verifierOf(
        contents.with(forged, { ...leaf, ...(sigmas && { sigmas }) }),
        {},
      );
      expect(settlementsOf(verifier)).toMatchObject({
        outcome: "failed",
        detail: expect.stringContaining(says),
      });
    },
  );

  it("contains no result of the later method in a run that began with the earlier method", async () => {
    const store = await openStore(embedded);
    const sessions = new Sessions();
    const folder = dataFolder();
    const symbols = Array.from({ length: 600 }, (_, at) => `T${String(at).padStart(3, "0")}`);
    sessions.close(0, "stock", symbols);
    const earlier = signalLog(store, sessions, { folder });
    await earlier.writeUntil("open run");
    await earlier.writer.tick();
    // The next process reads results that were recorded by another method than the method of the
    // run.
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
    const signals = (await later.contents()).filter(({ kind }) => kind === "signal");
    expect(signals).toHaveLength(600);
    const failed = signals.map(({ status }) => status === "failed");
    const first = failed.indexOf(true);
    expect(first).toBeGreaterThan(0);
    expect(failed.slice(first)).toEqual(failed.slice(first).map(() => true));
  });

  it.each(["", "modified."])(
    "contains the results of its own method with version 1.0.0+%s<digits>",
    async (mark) => {
      const store = await openStore(embedded);
      const sessions = new Sessions();
      sessions.close(0, "stock", SYMBOLS);
      const { snapshots } = sessions;
      const methodVersion = `1.0.0+${mark}${runningMethod().methodHash.slice(0, 16)}`;
      const recorded = {
        ...snapshots,
        lastAt: (symbol: string, at: number) => {
          const found = snapshots.lastAt(symbol, at);
          return found && { ...found, methodVersion };
        },
      };
      const log = signalLog(store, sessions, { snapshots: recorded });
      await log.settle();
      const signals = (await log.contents()).filter(({ kind }) => kind === "signal");
      expect(signals.map(({ status }) => status === "failed")).toEqual(SYMBOLS.map(() => false));
    },
  );
});

it("after a failed step, the log is reported as behind only while a session is not logged", async () => {
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

/** Hash of the method of an earlier version. */
const EARLIER_HASH = "0123456789abcdef".repeat(4);

/** Returns a decision in the run at entry 3, as version 1.0.0 logs it. */
const earlierSignal = (symbol: string) =>
  canonicalize({
    ...{ kind: "signal", v: 2, run: 3, close: new Date(closeOf(0)).toISOString(), symbol },
    ...{ status: "ok", signal: "WAIT", score: 50, scoreRaw: 50, scoreSmoothed: 50 },
    sigmas: RISK_TABLE.classes.stock.map((table) => horizonSigma(0.013, table, 20)),
    ...{ confidence: 0.5, coverage: 1, factors: null, inputs: null, candidates: {} },
  }) as string;

/**
 * A log whose first run was begun by version 1.0.0 of the service, and which this version continues
 * for ten sessions. Version 1.0.0 had recorded the results of the first six instruments, and logged
 * three of them.
 */
async function upgraded() {
  const sessions = new Sessions();
  for (let day = -260; day < 0; day++) {
    for (const symbol of SYMBOLS) sessions.trade(day, "stock", symbol);
  }
  sessions.expectReports(3);
  sessions.close(0, "stock", SYMBOLS);
  const store = await openStore(embedded);
  const folder = dataFolder();
  const earlier = signalLog(store, sessions, { folder });
  await earlier.writer.tick();
  const state = await earlier.store.state();
  if (state === undefined) throw new Error("there is no log");
  const { record } = state.value;
  const registration = { market: "live", riskTable: NARROWER, record } as const;
  const ofEarlier = (leaf: string) => {
    const content = JSON.parse(leaf);
    const version = `1.0.0+${EARLIER_HASH.slice(0, 16)}`;
    return canonicalize({
      ...{ ...content, methodHash: EARLIER_HASH },
      ...(content.kind === "method" && { version }),
    }) as string;
  };
  const run = { index: 3, assetClass: "stock", close: closeOf(0) } as const;
  const manifest = { ...run, at: closeOf(0), universe: 2, results: SYMBOLS.length };
  await earlier.store.append(state, {
    leaves: [
      ofEarlier(methodLeaf({ ...registration, riskTable: RISK_TABLE }, closeOf(0))),
      ofEarlier(methodLeaf(registration, closeOf(0))),
      ...universeLeaves("stock", SYMBOLS),
      ofEarlier(runLeaf(manifest)),
      ...SYMBOLS.slice(0, 3).map((symbol) => earlierSignal(symbol)),
    ],
    change: { open: run },
    run: { ...run, universe: 2, symbols: SYMBOLS },
  });

  const { snapshots } = sessions;
  const methodVersion = `1.0.0+${EARLIER_HASH.slice(0, 16)}`;
  const lastAt = (symbol: string, at: number) => {
    const found = snapshots.lastAt(symbol, at);
    const isRecorded = found?.at === closeOf(0) && SYMBOLS.indexOf(symbol) < 6;
    return isRecorded ? { ...found, factors: undefined, methodVersion } : found;
  };
  const later = signalLog(store, sessions, {
    ...{ folder, snapshots: { ...snapshots, lastAt } as typeof snapshots },
  });
  await later.settle();
  for (let day = 1; day <= 10; day++) {
    sessions.close(day, "stock", SYMBOLS);
    await later.settle();
  }
  return { log: later, prices: sessions.market };
}

describe("a signal log begun by version 1.0.0", () => {
  it("contains no result of another method in a run that version 1.0.0 began", async () => {
    const { log, prices } = await upgraded();
    const contents = await log.contents();
    const results = contents.filter(({ kind, run }) => kind === "signal" && run === 3);
    expect(results.map(({ symbol, status }) => [symbol, status])).toEqual(
      SYMBOLS.map((symbol, at) => [symbol, at < 6 ? "ok" : "failed"]),
    );
    expect(results.map(({ v }) => v)).toEqual(SYMBOLS.map((_, at) => (at < 3 ? 2 : 3)));
    // The run that version 1.0.0 began is graded apart from those of the running method.
    const graded = await gradedRunsOf(log);
    const hashes = [methodHash, EARLIER_HASH];
    expect(graded.methodsOf({ assetClass: "stock", horizon: 5 })).toEqual(hashes);
    expect(hashes.map((hash) => stockFigures(graded, 5, hash))).toMatchObject([
      { runs: 3, ranges: coverageIn(contents) },
      { runs: 1, ranges: coverageIn(contents, EARLIER_HASH) },
    ]);
    const { failures, check } = await verified(log, {
      prices,
      trackRecord: () => answeredTrackRecord(log),
    });
    expect(failures).toEqual([]);
    expect(check("record")).toMatchObject({ outcome: "proved" });
  });
});

it("a method entry whose terms are out of bounds is rejected", () => {
  const record = trackRecordTerms(0);
  const leaf = methodLeaf({ market: "live", riskTable: RISK_TABLE, record }, 0);
  const read = (change: object) =>
    parseLeaf(canonicalize({ ...JSON.parse(leaf), ...change }) as string);
  const ofRecord = (change: object) => read({ record: { ...JSON.parse(leaf).record, ...change } });
  expect(ofRecord({})).toMatchObject({ kind: "method", record: { horizons: { stock: [5, 21] } } });
  const [stock] = RISK_TABLE.classes.stock;
  for (const forge of [
    () => ofRecord({ horizons: { stock: [0] } }),
    () => ofRecord({ horizons: { stock: [1.5] } }),
    () => ofRecord({ headline: { stock: 0 } }),
    () => ofRecord({ rules: { ...record.rules, significance: 0 } }),
    () => ofRecord({ rules: { ...record.rules, significance: 1 } }),
    () => ofRecord({ rules: { ...record.rules, correctedWithin: -1 } }),
    () => ofRecord({ verdictDates: ["some day"] }),
    () => read({ risk: { stock: [{ ...stock, horizon: 0 }] } }),
    () => read({ risk: { stock: [{ ...stock, quantiles: [] }] } }),
  ]) {
    expect(forge).toThrow("is no method of a known version");
  }
});

it("a signal entry is rejected when its forecast is not a standard deviation or does not fit its version", () => {
  const leaf = JSON.parse(earlierSignal("AAA"));
  const read = (change: object) => () => parseLeaf(canonicalize({ ...leaf, ...change }) as string);
  expect(read({})()).toMatchObject({ kind: "signal", v: 2, sigmas: leaf.sigmas });
  const wrong = [[-0.02, -0.04], [0, 0], [1e308, 1e308], ["0.02"], Array(9).fill(0.02)];
  for (const forge of [
    ...wrong.map((sigmas) => read({ sigmas })),
    ...[{ v: 1 }, { v: 3 }].map(read),
  ]) {
    expect(forge).toThrow("is no signal of a known version");
  }
});

describe("a track record answer fails verification", () => {
  const terms = trackRecordTerms(0);
  const figures = computeTrackRecordFigures("stock", 21, [], 0);
  const answered = {
    methodHash,
    ...trackRecordFiguresAnswer(figures),
    ...{ isHeadline: true, expectedAt: null, verdicts: [], nextVerdictAt: null },
  };
  const check = (logged: readonly VerifiedTrackRecord[], records: readonly object[]) =>
    checkTrackRecord({ skipped: 0, terms, claims: new Map(), records: () => logged }, 9, {
      ...{ market: "live", simulated: false, origin: "o", size: 9, claims: [], records },
      beganAt: "1970-01-01T00:00:00.000Z",
    });

  it("when it has an unsupported verdict or the wrong headline horizon", () => {
    const outcomeOf = (change: object) => check([], [{ ...answered, ...change }]).outcome;
    const [at = 0] = terms.verdictDates;
    const verdict = { at: new Date(at).toISOString(), isFinal: true };
    expect(outcomeOf({})).toBe("not_proved");
    expect(outcomeOf({ verdicts: [{ ...verdict, verdict: "insufficient_data" }] })).toBe(
      "not_proved",
    );
    expect(outcomeOf({ verdicts: [{ ...verdict, verdict: "evidence_for" }] })).toBe("failed");
    expect(outcomeOf({ isHeadline: false })).toBe("failed");
  });

  it("when it leaves out a record that the log has", () => {
    const logged = [{ methodHash, figures, runs: [], terms }];
    expect(check(logged, [answered]).outcome).toBe("proved");
    expect(check(logged, [])).toMatchObject({
      outcome: "failed",
      detail: expect.stringContaining("stock over 21 sessions is not answered"),
    });
  });
});

it("a standard error with a lag longer than the series is computed in bounded time", () => {
  expect(neweyWestStandardError([1, 2, 4], 2 ** 50)).toBeGreaterThan(0);
});
