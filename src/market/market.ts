import { z } from "zod";
import type { AssetClass, Instrument } from "./instrument.ts";
import type { Feed, InstrumentRecords } from "./records.ts";

/**
 * Kind of market, shown in answers so that simulated or historical data are never mistaken for live
 * data.
 */
export const MarketMode = z.enum(["sandbox", "files", "replay", "live"]);
export type MarketMode = z.infer<typeof MarketMode>;

/** A data source and its terms. */
export interface DataSource {
  readonly id: string;
  readonly name: string;
  /** License or terms of use in one sentence. */
  readonly terms: string;
  readonly simulated: boolean;
}

/** Sources of the records of an instrument, by feed; several sources can supply messages. */
export type SourcesByFeed = ReadonlyMap<Feed, readonly DataSource[]>;

/** A provider of market records; implementations are in src/sources. */
export interface Market {
  readonly mode: MarketMode;
  readonly source: DataSource;
  /** Length of one market day in milliseconds: 86,400,000 outside the sandbox. */
  readonly dayMs: number;
  /**
   * All records known by `at` (Unix milliseconds), possibly with records that become known later:
   * callers select with `countKnownRecords`. Between two calls with the same `scoredFrom` and
   * revision, lists only grow.
   */
  recordsUntil(at: number): readonly InstrumentRecords[];
  /**
   * Revision number: `recordsUntil` increases it after records were inserted ahead of records that
   * were already read, or after old records were dropped. All sessions are then scored again.
   * Absent if neither ever happens.
   */
  revision?(): number;
  /** `blocks` if only blocks are stored; absent if all prints from the sources are stored. */
  readonly printsAre?: "blocks";
  /** Sources of the records of an instrument, by feed; absent if `source` supplies all feeds. */
  readonly sourcesOf?: (symbol: string) => SourcesByFeed;
  /**
   * All instruments of a live market, with or without records so far; absent if all records exist
   * from the start.
   */
  readonly followed?: readonly Instrument[];
  /**
   * Instants in (after, until] at which the bars of the sessions of an asset class are due, Unix
   * milliseconds, ascending. A session whose bar is missing is included; a holiday is not. Absent
   * if every day has bars.
   */
  barsDue?(after: number, until: number, assetClass: AssetClass): readonly number[];
  /** Label of the session, open or closed, to which an instant (Unix milliseconds) belongs. */
  sessionAt(at: number, assetClass: AssetClass): string;
  /**
   * First instant of the sessions whose scores are served at `at`, Unix milliseconds: the start of
   * the previous calendar year.
   */
  servedFrom(at: number): number;
  /**
   * First instant of the scored sessions, Unix milliseconds. Scores form one continuous series
   * while this value stays the same; a new value restarts scoring. Absent if all sessions are
   * scored, from the first bar on.
   */
  scoredFrom?(at: number): number;
}
