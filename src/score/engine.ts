import { AssetClass } from "../market/instrument.ts";
import type { Market } from "../market/market.ts";
import { type ClassWalk, createClassWalk } from "./class-walk.ts";
import type { Snapshot } from "./snapshot.ts";

/** Keeps the snapshots of the walk; the store implements it. */
export interface SnapshotArchive {
  /** Forgets everything: the walk starts over from an earlier or later origin. */
  clear(): void;
  /** Keeps a session's final snapshot, which is also the newest one. */
  addClosed(snapshot: Snapshot): void;
  /** Replaces the newest snapshot of the instrument until the next one. */
  setNewest(snapshot: Snapshot): void;
}

/** Turns market records into snapshots, session by session. */
export interface Engine {
  /**
   * Brings every instrument up to `at` (Unix milliseconds, never falling). The result depends on
   * the market and `at` alone: the walk always starts at the market's `walkStart(at)`.
   */
  refresh(at: number): void;
}

/** Creates the engine over one market. */
export function createEngine(market: Market, archive: SnapshotArchive): Engine {
  let origin: number | undefined;
  let walks: ReadonlyMap<AssetClass, ClassWalk> = new Map();

  const startOver = (from: number) => {
    origin = from;
    archive.clear();
    const options = {
      dayMs: market.dayMs,
      origin: from,
      sink: (snapshot: Snapshot, kind: "closed" | "interim") =>
        kind === "closed" ? archive.addClosed(snapshot) : archive.setNewest(snapshot),
    };
    walks = new Map(AssetClass.options.map((assetClass) => [assetClass, createClassWalk(options)]));
  };

  return {
    refresh(at) {
      const from = market.walkStart(at);
      if (from !== origin) startOver(from);
      const records = market.recordsUntil(at);
      for (const [assetClass, walk] of walks) {
        const group = records.filter(({ instrument }) => instrument.assetClass === assetClass);
        if (group.length > 0) walk.advance(group, at);
      }
    },
  };
}
