import { MAX_BAR_AGE_DAYS } from "../factors/momentum.ts";
import { type Composite, compose, WEIGHTS } from "./composite.ts";
import { type Observed, type ReadingContext, readFactors } from "./readings.ts";
import type { Evaluation } from "./snapshot.ts";
import { measureTrack, type Track } from "./track.ts";

/** An instrument that trades, as measured at one instant; a price too old missed infinitely many. */
export interface Measured extends Observed {
  /** Position in its class. */
  readonly index: number;
}

/** Sessions of a class that closed by an instant, and the instant, in Unix milliseconds. */
export interface Moment {
  readonly closes: readonly number[];
  readonly at: number;
  /** Length of a market day in milliseconds. */
  readonly dayMs: number;
}

/** Measures the instrument at a position of its class, `undefined` before its first bar. */
export function measureOne(track: Track, index: number, moment: Moment): Measured | undefined {
  const { at, dayMs } = moment;
  const { newestBar, instrument } = track;
  if (newestBar === undefined) return undefined;
  const isTooOld = at - newestBar.availableAt > MAX_BAR_AGE_DAYS[instrument.assetClass] * dayMs;
  const missedSessions = isTooOld
    ? Number.POSITIVE_INFINITY
    : countAfter(moment.closes, newestBar.availableAt);
  return { index, track, measurement: measureTrack(track, at, dayMs), missedSessions };
}

/** Reads and combines the factors of one instrument. */
export function evaluate(
  measured: Measured,
  context: ReadingContext,
): { readonly evaluation: Evaluation; readonly composite: Composite } {
  const { instrument, bars, newestBar } = measured.track;
  const { missedSessions } = measured;
  const readings = readFactors(measured, context);
  const { at, tables } = context;
  const evaluation = { instrument, at, readings, bars, newestBar, missedSessions, tables };
  return { evaluation, composite: compose(readings, WEIGHTS[instrument.assetClass]) };
}

/** How many ascending instants lie after another. */
export function countAfter(closes: readonly number[], instant: number): number {
  let count = 0;
  while ((closes[closes.length - 1 - count] ?? 0) > instant) count++;
  return count;
}
