import { ScoringEngine, type SnapshotArchive } from "../../src/score/scoring-engine.ts";
import type { Snapshot } from "../../src/score/snapshot.ts";
import {
  closeOf,
  createMarket,
  type Feeds,
  SESSIONS,
  WARM_SESSIONS,
} from "./engine/made-market.ts";
import type { MeasuredEngine } from "./engine/measured.ts";

/**
 * Measures the scoring engine: `engine-run.ts <instruments> <feeds>` prints JSON with the time of
 * full refreshes at session closes. A full refresh recomputes every history, freezes the tables,
 * and computes factors, composite, signal and snapshot of every instrument.
 */

/** Measures full refreshes of a market with `size` instruments. */
function measure(size: number, feeds: Feeds): MeasuredEngine {
  const newest = new Map<string, Snapshot>();
  const keep = (snapshot: Snapshot) => void newest.set(snapshot.instrument.symbol, snapshot);
  const archive: SnapshotArchive = { clear: () => {}, addClosed: keep, setNewest: keep };
  const engine = new ScoringEngine(createMarket(size, feeds), archive);
  engine.refresh(closeOf(WARM_SESSIONS - 1));

  const refreshMs: number[] = [];
  const processorMs: number[] = [];
  for (let day = WARM_SESSIONS; day < SESSIONS; day++) {
    // Messages and off-exchange prints of the session are known before it closes.
    if (feeds === "all feeds") engine.refresh(closeOf(day) - 1);
    const processor = process.cpuUsage();
    refreshMs.push(timed(() => engine.refresh(closeOf(day))));
    const { user, system } = process.cpuUsage(processor);
    processorMs.push((user + system) / 1_000);
  }
  const peakMb = (process.resourceUsage().maxRSS * 1_024) / 1e6;
  return { refreshMs, processorMs, peakMb, drift: engine.drift() };
}

function timed(work: () => void): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

const [size, feeds] = process.argv.slice(2);
process.stdout.write(JSON.stringify(measure(Number(size), feeds as Feeds)));
