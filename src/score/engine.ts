import { AssetClass } from "../market/instrument.ts";
import type { Market } from "../market/market.ts";
import type { InstrumentRecords } from "../market/records.ts";
import { type ClassWalk, createClassWalk } from "./class-walk.ts";
import type { Snapshot } from "./snapshot.ts";

/** Keeps the snapshots of the walk; the store implements it. */
export interface SnapshotArchive {
  /** Forgets everything: the walk starts over from another origin and records anew. */
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

/** The instants at which sessions closed by `at`, ascending: when any bar became known. */
function sessionCloses(group: readonly InstrumentRecords[], at: number): readonly number[] {
  const closes = new Set<number>();
  for (const { bars } of group) for (const bar of bars) closes.add(bar.availableAt);
  return [...closes].filter((close) => close <= at).sort((a, b) => a - b);
}

/** When sessions closed by `at`: stocks and funds trade in the same ones, coins every day. */
function closesByClass(records: readonly InstrumentRecords[], at: number) {
  const coins = records.filter(({ instrument }) => instrument.assetClass === "crypto");
  const listed = records.filter(({ instrument }) => instrument.assetClass !== "crypto");
  const listedCloses = sessionCloses(listed, at);
  return { stock: listedCloses, etf: listedCloses, crypto: sessionCloses(coins, at) };
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

  /** A session of a 24-hour market closes at the first instant of the next day. */
  const isSame = (at: number, close: number, assetClass: AssetClass): boolean =>
    market.sessionAt(at, assetClass) === market.sessionAt(close - 1, assetClass);

  return {
    refresh(at) {
      const from = market.walkStart(at);
      if (from !== origin) startOver(from);
      const records = market.recordsUntil(at);
      const closesOf = closesByClass(records, at);
      for (const [assetClass, walk] of walks) {
        const group = records.filter(({ instrument }) => instrument.assetClass === assetClass);
        if (group.length === 0) continue;
        const closes = closesOf[assetClass];
        const newestClose = closes.at(-1) ?? 0;
        walk.advance({ group, closes, at, isSameSession: isSame(at, newestClose, assetClass) });
      }
    },
  };
}
