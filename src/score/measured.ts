import { MAX_BAR_AGE_DAYS } from "../factors/momentum.ts";
import type { Instrument } from "../market/instrument.ts";
import type { InstrumentRecords } from "../market/records.ts";
import { type Composite, compose, WEIGHTS } from "./composite.ts";
import type { PeerTables } from "./peers.ts";
import { type ReadingContext, readFactors } from "./readings.ts";
import type { Evaluation } from "./snapshot.ts";
import type { Measurement, Track } from "./track.ts";

/** An instrument that trades, as measured at one instant. */
export interface Measured {
  /** Position in its class. */
  readonly index: number;
  readonly instrument: Instrument;
  readonly track: Track;
  readonly measurement: Measurement;
  /** Sessions closed since its newest bar; infinite when that is too old in any case. */
  readonly missedSessions: number;
}

/** Sessions of a class that closed by an instant, and the instant, in Unix milliseconds. */
export interface Moment {
  readonly closes: readonly number[];
  readonly at: number;
  /** Length of a market day in milliseconds. */
  readonly dayMs: number;
}

/** Measures every instrument of a class that has traded by now. */
export function measureAll(
  tracks: readonly Track[],
  group: readonly InstrumentRecords[],
  { closes, at, dayMs }: Moment,
): readonly Measured[] {
  return group.flatMap(({ instrument }, index) => {
    const track = tracks[index] as Track;
    const newestBar = track.bars.at(-1);
    if (newestBar === undefined) return [];
    const isTooOld = at - newestBar.availableAt > MAX_BAR_AGE_DAYS[instrument.assetClass] * dayMs;
    const missedSessions = isTooOld
      ? Number.POSITIVE_INFINITY
      : countAfter(closes, newestBar.availableAt);
    return [{ index, instrument, track, measurement: track.measure(at), missedSessions }];
  });
}

/** What the readings of a class have in common at one instant. */
export type SharedContext = Omit<ReadingContext, "missedSessions">;

/** Gathers what the readings have in common. */
export function sharedContext(
  measured: readonly Measured[],
  { closes, at, dayMs, tables }: Moment & { readonly tables: PeerTables },
): SharedContext {
  return {
    at,
    dayMs,
    tables,
    closesAfter: (instant) => countAfter(closes, instant),
    mentionsAt: newest(measured.map(({ track }) => track.conversation.newestAt)),
    printsAt: newest(
      measured.flatMap(({ measurement: { darkpool } }) => [
        darkpool.block.asOf,
        darkpool.short.asOf,
      ]),
    ),
  };
}

/** Reads and combines the factors of one instrument. */
export function evaluate(
  { instrument, track, measurement, missedSessions }: Measured,
  context: SharedContext,
): { readonly evaluation: Evaluation; readonly composite: Composite } {
  const { assetClass } = instrument;
  const observed = { assetClass, track, measurement };
  const readings = readFactors(observed, { ...context, missedSessions });
  const { bars } = track;
  const evaluation = { instrument, at: context.at, readings, bars, missedSessions };
  return { evaluation, composite: compose(readings, WEIGHTS[assetClass]) };
}

/** How many ascending instants lie after another. */
function countAfter(closes: readonly number[], instant: number): number {
  let count = 0;
  while ((closes.at(-1 - count) ?? 0) > instant) count++;
  return count;
}

const newest = (times: readonly (number | null)[]): number | null =>
  times.reduce<number | null>(
    (max, time) => (max === null || (time ?? 0) > max ? time : max),
    null,
  );
