import { z } from "zod";
import type { AssetClass, Instrument } from "./instrument.ts";
import type { Feed, InstrumentRecords } from "./records.ts";

/** Kind of market, so that simulated or historical data are never mistaken for live. */
export const MarketMode = z.enum(["sandbox", "files", "replay", "live"]);
export type MarketMode = z.infer<typeof MarketMode>;

/** Origin of data and its terms. */
export interface Source {
  readonly id: string;
  readonly name: string;
  /** License or terms of use in one sentence. */
  readonly terms: string;
  readonly simulated: boolean;
}

/** Sources of the records of an instrument, by feed; messages have several. */
export type SourcesByFeed = ReadonlyMap<Feed, readonly Source[]>;

/** A supply of market records; implementations live in src/sources. */
export interface Market {
  readonly mode: MarketMode;
  readonly source: Source;
  /** Length of one market day in milliseconds: 86,400,000 outside the sandbox. */
  readonly dayMs: number;
  /** Every record known by `at` (Unix milliseconds), possibly later ones too: readers select with
   *  `countKnown`. Between two calls with the same `scoredFrom` and revision, lists only grow. */
  recordsUntil(at: number): readonly InstrumentRecords[];
  /** Increases in `recordsUntil` when records were inserted before others that were already read, or old
   *  ones were dropped: everything is scored again. Absent where that never happens. */
  revision?(): number;
  /** `blocks` if only blocks are stored; absent if all prints of the sources are. */
  readonly printsAre?: "blocks";
  /** Sources of the records of an instrument, by feed; absent if `source` supplies all of them. */
  readonly sourcesOf?: (symbol: string) => SourcesByFeed;
  /** Instruments of a live market, with or without records so far; absent where all records are there
   *  from the start. */
  readonly followed?: readonly Instrument[];
  /** Instants in (after, until] at which the bars of a class's sessions are due, Unix milliseconds,
   *  ascending. A session whose bar is missing is included, a holiday is not. Absent where every
   *  day has bars. */
  barsDue?(after: number, until: number, assetClass: AssetClass): readonly number[];
  /** Label of the session to which an instant (Unix milliseconds) belongs, under way or closed. */
  sessionAt(at: number, assetClass: AssetClass): string;
  /**
   * First instant of the sessions whose scores are served at `at`, Unix milliseconds: the start of
   * the year before.
   */
  servedFrom(at: number): number;
  /** First instant of the scored sessions, Unix milliseconds. Scores form one continuous series
   *  while it stays the same; another value starts scoring anew. Absent if all sessions from the
   *  first bar on are scored. */
  scoredFrom?(at: number): number;
}
