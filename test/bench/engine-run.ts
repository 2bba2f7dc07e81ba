import { ScoringEngine, type SnapshotArchive } from "../../src/score/scoring-engine.ts";
import type { Snapshot } from "../../src/score/snapshot.ts";
import {
  closeOf,
  createMarket,
  type Feeds,
  SESSIONS,
  WARM_SESSIONS,
} from "./engine/made-market.ts";
import type { Measured } from "./engine/measured.ts";

/**
 * What the engine costs: `engine-run.ts <instruments> <feeds>` prints, as JSON, what full refreshes
 * at the closes of sessions take (every history recomputed, tables frozen, factors, composite,
 * signal and snapshot of every instrument).
 */

/** Runs one size. */
function measure(size: number, feeds: Feeds): Measured {
  const newest = new Map<string, Snapshot>();
  const keep = (snapshot: Snapshot) => void newest.set(snapshot.instrument.symbol, snapshot);
  const archive: SnapshotArchive = { clear: () => {}, addClosed: keep, setNewest: keep };
  const engine = new ScoringEngine(createMarket(size, feeds), archive);
  engine.refresh(closeOf(WARM_SESSIONS - 1));

  const refreshMs: number[] = [];
  const processorMs: number[] = [];
  for (let day = WARM_SESSIONS; day < SESSIONS; day++) {
    // What was said and traded off exchange in the session is known before it closes.
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
