import type { AssetClass } from "../market/instrument.ts";
import type { SignalState } from "./signal-hysteresis.ts";

/**
 * What runs on from session to session of a class and cannot be read from records known by then
 * without scoring every session before: the smoothed scores and the signals. Everything else that
 * a walk carries (windows, volatilities, norms of an instrument's own past) follows from the records
 * alone, and every walk takes them in from the first one on.
 */
export interface KeptSignals {
  readonly assetClass: AssetClass;
  /** The close after which the signals stand, Unix milliseconds; no later record was used. */
  readonly at: number;
  /** By symbol; an instrument without a bar by then is absent. */
  readonly signals: ReadonlyMap<string, SignalState>;
}

/** Keeps the signals at some closes, so that a later walk need not score the sessions before them. */
export interface SignalKeeper {
  /** The newest kept signals of a class at a close before an instant (Unix milliseconds). */
  newest(assetClass: AssetClass, before: number): KeptSignals | undefined;
  /** Keeps signals; those of one class come in the order of their closes. */
  keep(signals: KeptSignals): void;
}
