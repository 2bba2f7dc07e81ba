import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { KnownLog } from "../../src/log/verify/known-log.ts";
import { verifyLog } from "../../src/log/verify/verify-log.ts";
import { servedBy } from "../support/log-source.ts";
import { closeOf, DAY_MS, Sessions, signalLog } from "../support/signal-log.ts";
import { openStore } from "./open-store.ts";
import { speak } from "./speak.ts";

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

const dayOf = (close: number): number => Math.round((close - closeOf(0)) / DAY_MS);

speak({ is: "start" });
const store = await openStore(values.store);
const sessions = new Sessions();
const isShared = store.engine === "postgres";
const log = signalLog(store, sessions, { folder: values.folder, isShared });
const before = (await log.store.state())?.value;
speak({ is: "log open", isInRun: Boolean(before?.open) });
let closedUntil = await lastDay();
sessions.close(closedUntil, "stock", SYMBOLS);
if (values.told === undefined) await appendForever();
else await verifyAll(values.told);

/** The day of the open run, or of the last complete one. */
async function lastDay(): Promise<number> {
  const state = (await log.store.state())?.value;
  return Math.max(0, dayOf(state?.open?.close ?? state?.recordedUntil.stock ?? closeOf(0)));
}

/** Appends one run after the other, and tells each checkpoint once it is served. */
async function appendForever(): Promise<void> {
  for (let told = ""; ; ) {
    // Another process may be at a later session, whose scores every process has.
    for (const day = await lastDay(); closedUntil <= day; ) {
      closedUntil += 1;
      sessions.close(closedUntil, "stock", SYMBOLS);
    }
    await log.writer.tick();
    for (const reason of log.refusals.splice(0)) speak({ is: "log refused", reason });
    const { note = "" } = (await log.store.checkpoint()) ?? {};
    if (note !== told) speak({ is: "signed", note });
    told = note;
  }
}

async function verifyAll(path: string): Promise<void> {
  await log.settle();
  const known = JSON.parse(readFileSync(path, "utf8")) as KnownLog;
  const { checks, size = 0 } = await verifyLog({
    ...{ source: servedBy(log), keys: [], known },
    now: Date.now,
  });
  speak({ is: "log verified", size, checks, refusals: log.refusals });
  await store.close();
}
