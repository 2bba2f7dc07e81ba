import { MAX_BAR_AGE_DAYS } from "../factors/momentum.ts";
import { type Composite, compose, WEIGHTS } from "./composite.ts";
import { type Observed, type ReadingContext, readFactors } from "./readings.ts";
import type { Evaluation } from "./snapshot.ts";
import { measureTrack, type Track } from "./track.ts";

/**
 * Measures an instrument, `undefined` before its first bar. A price that is too old counts as if
 * infinitely many sessions had been missed.
 */
export function observe(
  track: Track,
  { at, dayMs, closesAfter }: Pick<ReadingContext, "at" | "dayMs" | "closesAfter">,
): Observed | undefined {
  const { newestBar, instrument } = track;
  if (newestBar === undefined) return undefined;
  const isTooOld = at - newestBar.availableAt > MAX_BAR_AGE_DAYS[instrument.assetClass] * dayMs;
  const missedSessions = isTooOld ? Number.POSITIVE_INFINITY : closesAfter(newestBar.availableAt);
  return { track, measurement: measureTrack(track, at, dayMs), missedSessions };
}

/** Reads and combines the factors of one instrument. */
export function evaluate(
  observed: Observed,
  context: ReadingContext,
): { readonly evaluation: Evaluation; readonly composite: Composite } {
  const { instrument, bars, newestBar } = observed.track;
  const { missedSessions } = observed;
  const readings = readFactors(observed, context);
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
