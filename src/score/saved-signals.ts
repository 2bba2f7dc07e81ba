import type { AssetClass } from "../market/instrument.ts";
import type { RecordSeries } from "./record-series.ts";
import type { SignalState } from "./signal-hysteresis.ts";

/**
 * The smoothed scores and signals of a class after a session, which can only be recomputed by
 * scoring every earlier session. All other running state (windows, volatilities, own-history norms)
 * follows from the records alone, which every replay reads from the first record on.
 */
export interface SavedSignals {
  readonly assetClass: AssetClass;
  /** The close at which the signals were decided, Unix milliseconds; no later record was used. */
  readonly at: number;
  /** Series id (`RecordSeries`) of the records known at the close. */
  readonly series: string;
  /** Signals by symbol; an instrument without a bar by that close is absent. */
  readonly signals: ReadonlyMap<string, SignalState>;
}

/**
 * Stores signals at some closes, so that a later replay need not score the sessions before them.
 */
export interface SavedSignalsStore {
  /**
   * The newest stored signals of a class that were decided at a close before an instant (Unix
   * milliseconds) and whose series id equals that of the present records at that close.
   */
  newest(
    assetClass: AssetClass,
    before: number,
    series: Pick<RecordSeries, "at">,
  ): SavedSignals | undefined;
  /** Stores signals; signals of one class arrive in the order of their closes. */
  keep(signals: SavedSignals): void;
}
