import type { AssetClass, Instrument } from "./instrument.ts";
import type { DataSource, MarketMode, SourcesByFeed } from "./market.ts";
import type { InstrumentRecords } from "./records.ts";

/** What tools and answers can read of the market at the current time. */
export interface MarketView {
  readonly mode: MarketMode;
  readonly source: DataSource;
  /** `blocks` if only blocks are stored; absent if all prints from the sources are stored. */
  readonly printsAre?: "blocks";
  /**
   * Sources of the records of a listed instrument, by feed; absent if `source` supplies all feeds.
   */
  readonly sourcesOf?: (symbol: string) => SourcesByFeed;
  /** Length of a market day in milliseconds. */
  readonly dayMs: number;
  /** When the recording ends, Unix milliseconds; absent for a market that is not a recording. */
  readonly recordedUntil?: number;
  /** The current time, Unix milliseconds; simulated and replayed markets have their own clock. */
  now(): number;
  /**
   * Instant up to which all records and scores are known, Unix milliseconds; at most the current
   * time.
   */
  knownUntil(): number;
  /** Label of the session, open or closed, to which an instant (Unix milliseconds) belongs. */
  sessionAt(at: number, assetClass: AssetClass): string;
  /**
   * Whether the service still shows the scores of its previous run, because the scores are being
   * recomputed after a start; absent if that never happens.
   */
  isProvisional?(): boolean;
  /** Instruments that have data at `knownUntil`, in alphabetical order of their symbols. */
  instruments(): readonly Instrument[];
  /**
   * All instruments that the service follows, with or without data so far; absent if all of them
   * have data.
   */
  readonly followed?: readonly Instrument[];
  /**
   * Records of a listed instrument; callers must ignore records that are not known at `knownUntil`.
   */
  records(symbol: string): InstrumentRecords;
}
