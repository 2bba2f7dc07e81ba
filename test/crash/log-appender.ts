import { readFileSync } from "node:fs";
import { isDeepStrictEqual, parseArgs } from "node:util";
import { recordTerms } from "../../src/grading/track-record.ts";
import { GradedRuns } from "../../src/log/graded-runs.ts";
import type { LogState } from "../../src/log/log-state.ts";
import type { KnownLog } from "../../src/log/verify/known-log.ts";
import { verifyLog } from "../../src/log/verify/verify-log.ts";
import { servedBy } from "../support/log-source.ts";
import { closeOf, DAY_MS, Sessions, signalLog } from "../support/signal-log.ts";
import { openStore } from "./open-store.ts";
import { writeReport } from "./write-report.ts";

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "" },
    /** Where log-head is. */
    folder: { type: "string", default: "" },
    /** Completes the open run and verifies everything against what was told. */
    told: { type: "string" },
  },
});

/** Signals of each run. */
const SYMBOLS = Array.from({ length: 10_000 }, (_, at) => `S${String(at).padStart(5, "0")}`);

/** Sessions before the first one of a process: prices of everything that is not settled yet. */
const PAST_DAYS = 40;

const dayOf = (close: number): number => Math.round((close - closeOf(0)) / DAY_MS);

writeReport({ is: "start" });
const isCheck = values.told !== undefined;
const store = await openStore(values.store);
const sessions = new Sessions();
/** The last session that has closed. */
let closed = 0;
/** The last session that has scores: those of one more are there before any process can log it. */
let scored = -1;
const log = signalLog(store, sessions, {
  folder: values.folder,
  isShared: store.engine === "postgres",
  knownUntil: () => closeOf(closed),
  now: () => closeOf(closed) + 1_000,
});
const before = (await log.store.state())?.value;
closed = dayOfLastRun(before);
for (let day = isCheck ? 0 : Math.max(0, closed - PAST_DAYS); day < closed; day++) {
  for (const symbol of SYMBOLS) sessions.trade(day, "stock", symbol);
  scored = day;
}
score();
writeReport({ is: "log open", inside: insideOf(before) });
if (values.told === undefined) await appendForever();
else await verifyAll(values.told);

/** The day of the open run, or of the last complete one. */
function dayOfLastRun(state: LogState | undefined): number {
  return Math.max(0, dayOf(state?.open?.close ?? state?.recordedUntil.stock ?? closeOf(0)));
}

function insideOf(state: LogState | undefined): "run" | "settlement" | null {
  if (state?.open) return "run";
  return state?.settling ? "settlement" : null;
}

function score(): void {
  for (; scored <= closed; scored++) sessions.close(scored + 1, "stock", SYMBOLS);
}

/** Appends runs and settlements, a session after the other, and tells each checkpoint once it is
 *  served. */
async function appendForever(): Promise<void> {
  let isSettling = false;
  for (let told = ""; ; ) {
    // Another process may be at a later session.
    closed = Math.max(closed, dayOfLastRun((await log.store.state())?.value));
    score();
    if ((await log.writer.tick()) === 0) closed += 1;
    if (!isSettling && insideOf((await log.store.state())?.value) === "settlement") {
      isSettling = true;
      writeReport({ is: "log settling" });
    }
    for (const reason of log.refusals.splice(0)) writeReport({ is: "log refused", reason });
    const { note = "" } = (await log.store.checkpoint()) ?? {};
    if (note !== told) writeReport({ is: "signed", note });
    told = note;
  }
}

async function verifyAll(path: string): Promise<void> {
  await log.settle();
  const known = JSON.parse(readFileSync(path, "utf8")) as KnownLog;
  const {
    checks,
    size = 0,
    records = [],
  } = await verifyLog({
    ...{ source: servedBy(log), keys: [], known },
    ...{ prices: sessions.market, now: Date.now },
  });
  const graded = new GradedRuns(log.store);
  await graded.reload();
  const differing = records.filter(({ figures }) => {
    const { assetClass, horizon } = figures;
    return !isDeepStrictEqual(
      graded.record(assetClass, horizon, recordTerms(0), 0).figures,
      figures,
    );
  });
  const settled = records.reduce((sum, { figures }) => sum + figures.runs, 0);
  const record = { settled, differing: differing.length };
  writeReport({ is: "log verified", size, checks, refusals: log.refusals, ...record });
  await store.close();
}
