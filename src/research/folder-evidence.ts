import type { Market } from "../market/market.ts";
import { ScoringEngine } from "../score/scoring-engine.ts";
import type { Snapshot } from "../score/snapshot.ts";

/** The newest snapshot of every instrument of a market, and the instant of the newest bar. */
export interface FolderEvidence {
  /** Unix milliseconds; `undefined` without bars. */
  readonly at: number | undefined;
  readonly snapshots: readonly Snapshot[];
}

/** Scores a market folder at its newest bar, as the service does. */
export function folderEvidence(market: Market): FolderEvidence {
  const ends = market
    .recordsUntil(Number.POSITIVE_INFINITY)
    .flatMap(({ bars }) => bars.at(-1)?.availableAt ?? []);
  const at = ends.length === 0 ? undefined : Math.max(...ends);
  const newest = new Map<string, Snapshot>();
  const keep = (snapshot: Snapshot) => void newest.set(snapshot.instrument.symbol, snapshot);
  const engine = new ScoringEngine(market, { clear: () => {}, setNewest: keep, addClosed: keep });
  if (at !== undefined) engine.refresh(at);
  return { at, snapshots: [...newest.values()] };
}
