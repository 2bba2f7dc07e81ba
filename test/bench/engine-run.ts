import type { Bar, InstrumentRecords, Mention, Print } from "../../src/market/records.ts";
import { ScoringEngine, type SnapshotArchive } from "../../src/score/scoring-engine.ts";
import type { Snapshot } from "../../src/score/snapshot.ts";
import {
  COMPILED_AFTER,
  closeOf,
  createMarket,
  type Feeds,
  LIVE,
  label,
  messageAt,
  printAt,
  SESSIONS,
  WARM_SESSIONS,
} from "./engine/made-market.ts";
import type { EventKind, Measured } from "./engine/measured.ts";

/**
 * What the engine costs: `engine-run.ts <instruments> <feeds>` prints, as JSON, what full refreshes
 * at the closes of sessions take (every history recomputed, tables frozen, factors, composite,
 * signal and snapshot of every instrument) and what single events do.
 */

/** Runs one size. */
function measure(size: number, feeds: Feeds): Measured {
  const { market, records, histories } = createMarket(size, feeds);
  const newest = new Map<string, Snapshot>();
  const keep = (snapshot: Snapshot) => void newest.set(snapshot.instrument.symbol, snapshot);
  const archive: SnapshotArchive = { clear: () => {}, addClosed: keep, setNewest: keep };
  const engine = new ScoringEngine(market, archive);
  engine.refresh(closeOf(WARM_SESSIONS - 1));

  const refreshMs: number[] = [];
  const processorMs: number[] = [];
  const eventUs: Record<EventKind, number[]> = { bar: [], print: [], message: [] };
  for (let day = WARM_SESSIONS; day < SESSIONS; day++) {
    // What was said and traded off exchange in the session is known before it closes.
    if (feeds === "all feeds") engine.refresh(closeOf(day) - 1);
    const processor = process.cpuUsage();
    refreshMs.push(timed(() => engine.refresh(closeOf(day))));
    const { user, system } = process.cpuUsage(processor);
    processorMs.push((user + system) / 1_000);

    let at = closeOf(day);
    const tell = (kind: EventKind, add: (live: InstrumentRecords, n: number) => void) => {
      for (const [index, live] of records.slice(0, LIVE).entries()) {
        at += 1_000;
        add(live, index);
        const ms = timed(() => engine.update([live.instrument.symbol], at));
        if (day >= WARM_SESSIONS + COMPILED_AFTER) eventUs[kind].push(1_000 * ms);
      }
    };
    tell("bar", ({ bars }, index) => {
      const late = histories[index % histories.length]?.[day] as Bar;
      (bars as Bar[]).push({ ...late, availableAt: at });
    });
    tell("print", ({ prints }) => (prints as Print[]).push(printAt(at, label(day))));
    tell("message", ({ mentions }) => (mentions as Mention[]).push(messageAt(at)));
  }
  const peakMb = (process.resourceUsage().maxRSS * 1_024) / 1e6;
  return { refreshMs, processorMs, eventUs, peakMb, drift: engine.drift() };
}

function timed(work: () => void): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

const [size, feeds] = process.argv.slice(2);
process.stdout.write(JSON.stringify(measure(Number(size), feeds as Feeds)));
