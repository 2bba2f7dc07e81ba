import { z } from "zod";
import type { AssetClass, Instrument } from "./instrument.ts";
import type { Feed, InstrumentRecords } from "./records.ts";

/** Where answers come from, so that nothing simulated or historical passes for live. */
export const MarketMode = z.enum(["sandbox", "files", "replay", "live"]);
export type MarketMode = z.infer<typeof MarketMode>;

/** Who the data come from and on what terms. */
export interface Source {
  readonly id: string;
  readonly name: string;
  /** Licence or terms of use in one sentence. */
  readonly terms: string;
  readonly simulated: boolean;
}

/** Who gave the records of an instrument, by list; messages come from several places. */
export type SourcesByFeed = ReadonlyMap<Feed, readonly Source[]>;

/** A supply of market records; implementations live in src/sources. */
export interface Market {
  readonly mode: MarketMode;
  readonly source: Source;
  /** Length of one market day in milliseconds: 86,400,000 outside the sandbox. */
  readonly dayMs: number;
  /**
   * Every record known by `at` (Unix milliseconds), possibly later ones too: readers cut with
   * `countKnown`. Lists only ever grow between two calls with the same `walkStart` and revision.
   */
  recordsUntil(at: number): readonly InstrumentRecords[];
  /** Rises in `recordsUntil` when records came in behind those that were read, or old ones went:
   *  scores are walked anew. Absent where that never happens. */
  revision?(): number;
  /** Which prints there are; absent: all that the sources have. */
  readonly printsAre?: "blocks";
  /** Who gave what is known of an instrument, by list; absent where `source` gave all. */
  readonly sourcesOf?: (symbol: string) => SourcesByFeed;
  /** Instruments whose records come by and by, whether or not there are any yet; absent where all
   *  records are there from the start. */
  readonly followed?: readonly Instrument[];
  /**
   * When the bars of a class's sessions are due in (after, until] (Unix milliseconds), ascending,
   * whether or not there are any: a session without a bar was missed, a holiday is no session.
   * Absent where every day has bars.
   */
  barsDue?(after: number, until: number, assetClass: AssetClass): readonly number[];
  /** Label of the session to which an instant (Unix milliseconds) belongs, under way or closed. */
  sessionAt(at: number, assetClass: AssetClass): string;
  /** Instant from which scores are walked forward to `at`: the previous year's first moment. */
  scoringStart(at: number): number;
}
