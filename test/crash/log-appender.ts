import { readFileSync } from "node:fs";
import { isDeepStrictEqual, parseArgs } from "node:util";
import { trackRecordTerms } from "../../src/grading/track-record.ts";
import { GradedRuns } from "../../src/log/graded-runs.ts";
import { type LogState, phaseOf } from "../../src/log/log-state.ts";
import { verifyLog } from "../../src/log/verify/verify-log.ts";
import type { KnownLog } from "../../src/tree/known-log.ts";
import { logSourceOf } from "../support/log-source.ts";
import { closeOf, DAY_MS, Sessions, signalLog } from "../support/signal-log.ts";
import { openStore } from "./open-store.ts";
import { writeReport } from "./write-report.ts";

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "" },
    /** Folder of the log-head file. */
    folder: { type: "string", default: "" },
    /**
     * File with the served checkpoints. If present, the process completes the open run and verifies
     * the log against them.
     */
    told: { type: "string" },
  },
});

/** Symbols of the signals in each run. */
const SYMBOLS = Array.from({ length: 10_000 }, (_, at) => `S${String(at).padStart(5, "0")}`);

/**
 * Number of sessions before the first session of a process; they provide the prices for all open
 * forecasts.
 */
const PAST_DAYS = 40;

const dayOf = (close: number): number => Math.round((close - closeOf(0)) / DAY_MS);

writeReport({ is: "start" });
const isCheck = values.told !== undefined;
const store = await openStore(values.store);
const sessions = new Sessions();
/** Day of the last closed session. */
let closed = 0;
/**
 * Day of the last session with scores. Scores exist for one session ahead, before any process can
 * log it.
 */
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

/** Day of the open run or, without one, of the last complete run. */
function dayOfLastRun(state: LogState | undefined): number {
  return Math.max(0, dayOf(state?.open?.close ?? state?.recordedUntil.stock ?? closeOf(0)));
}

function insideOf(state: LogState | undefined): "run" | "settlement" | null {
  const phase = state && phaseOf(state).is;
  if (phase === "open run") return "run";
  return phase === "open settlement" ? "settlement" : null;
}

function score(): void {
  for (; scored <= closed; scored++) sessions.close(scored + 1, "stock", SYMBOLS);
}

/**
 * Appends runs and settlements session by session, and reports each checkpoint once it is served.
 */
async function appendForever(): Promise<void> {
  let isSettling = false;
  for (let told = ""; ; ) {
    // Another process may have reached a later session.
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
    ...{ source: logSourceOf(log), keys: [], known },
    ...{ prices: sessions.market, now: Date.now },
  });
  const graded = new GradedRuns(log.store);
  await graded.reload();
  const differing = records.filter(({ figures, methodHash }) => {
    const { assetClass, horizon } = figures;
    return !isDeepStrictEqual(
      graded.record({ assetClass, horizon, methodHash }, trackRecordTerms(0), 0).figures,
      figures,
    );
  });
  const settled = records.reduce((sum, { figures }) => sum + figures.runs, 0);
  const record = { settled, differing: differing.length };
  writeReport({ is: "log verified", size, checks, refusals: log.refusals, ...record });
  await store.close();
}
