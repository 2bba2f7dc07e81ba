import type { AssetClass } from "../market/instrument.ts";
import type { RecordSeries } from "./record-series.ts";
import type { SignalState } from "./signal-hysteresis.ts";

/**
 * State of a class after a session that can only be recomputed by scoring every earlier session: the
 * smoothed scores and signals. All other running state (windows, volatilities, own-history norms)
 * follows from the records alone, which every replay reads from the first one on.
 */
export interface KeptSignals {
  readonly assetClass: AssetClass;
  /** The close after which the signals hold, Unix milliseconds; no later record was used. */
  readonly at: number;
  /** Series of the close. */
  readonly series: string;
  /** By symbol; an instrument without a bar by then is absent. */
  readonly signals: ReadonlyMap<string, SignalState>;
}

/** Stores signals at some closes, so that a later replay need not score the sessions before them. */
export interface SignalKeeper {
  /** The newest stored signals of a class at a close before an instant (Unix milliseconds) that are of the
   *  same series. */
  newest(
    assetClass: AssetClass,
    before: number,
    series: Pick<RecordSeries, "at">,
  ): KeptSignals | undefined;
  /** Stores signals; those of one class arrive in the order of their closes. */
  keep(signals: KeptSignals): void;
}
