import type { AssetClass, Instrument } from "./instrument.ts";
import type { MarketMode, Source, SourcesByFeed } from "./market.ts";
import type { InstrumentRecords } from "./records.ts";

/** The market as answers read it, at the present moment. */
export interface MarketView {
  readonly mode: MarketMode;
  readonly source: Source;
  /** `blocks` if only blocks are stored; absent if all prints of the sources are. */
  readonly printsAre?: "blocks";
  /** Sources of the records of a listed instrument, by feed; absent if `source` supplies all of
   *  them. */
  readonly sourcesOf?: (symbol: string) => SourcesByFeed;
  /** Length of a market day in milliseconds. */
  readonly dayMs: number;
  /** Where the recording ends, Unix milliseconds; absent for a market without an end. */
  readonly recordedUntil?: number;
  /** The present moment, Unix milliseconds; simulated and replayed markets have a clock of their own. */
  now(): number;
  /** Instant up to which everything is known, Unix milliseconds; at most now. */
  knownUntil(): number;
  /** Label of the session to which an instant (Unix milliseconds) belongs, under way or closed. */
  sessionAt(at: number, assetClass: AssetClass): string;
  /** Whether scores are still those of the previous run while they are computed again; absent if
   *  they never are. */
  isWarm?(): boolean;
  /** Instruments that have data at `knownUntil`, in alphabetical order of their symbols. */
  instruments(): readonly Instrument[];
  /** Instruments with or without data so far; absent where all of them have data. */
  readonly followed?: readonly Instrument[];
  /** Records of a listed instrument; readers use those known at `knownUntil` or earlier. */
  records(symbol: string): InstrumentRecords;
}
