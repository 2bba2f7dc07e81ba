import { createShortPressureTracker } from "../../factors/short-pressure.ts";
import type { InstrumentRecords, RecordList, ShortVolume } from "../../market/records.ts";
import { rawCoefficients, timeSeriesCoefficient } from "./coefficients.ts";
import type { DatedOutcomes, GradedDateValue, StatementOutcome } from "./outcomes.ts";
import type { GridRow, ReturnGrid } from "./return-grid.ts";

/** Instruments and period of the short-volume analysis. */
interface NextOpenOptions {
  readonly records: readonly InstrumentRecords[];
  readonly grid: ReturnGrid;
  /** Indices of the graded rows of the grid; a single row is analyzed through time. */
  readonly graded: ReadonlySet<number>;
  /** ISO date of the first session whose open-to-close return is used. */
  readonly from: string;
  readonly seed: number;
}

/**
 * For each date, the rank correlation of the short ratio's negated z (negated as in the score, so
 * that a high value is bullish) with the return from the first open after the ratio's publication
 * to the close of that session. It is measured separately because short volume is published after
 * the close: the score at a close can use only the short volume of the previous session, and the
 * effect, which lasts one session, is over when the ordinary returns begin.
 */
export function shortRatioNextOpenCorrelations(
  wanted: NextOpenOptions,
): readonly GradedDateValue[] {
  const { records, grid, graded, from, seed } = wanted;
  const volumes = new Map(records.map((one) => [one.instrument.symbol, one.shortVolumes ?? []]));
  const statements = [...graded].flatMap((row) => {
    const gridRow = grid.rows[row] as GridRow;
    const own = volumes.get(gridRow.instrument.symbol) ?? [];
    return [...outcomesOf(own, gridRow, grid)].map(([place, one]) => ({ place, one, row }));
  });
  const dates = [...Map.groupBy(statements, ({ place }) => place)]
    .toSorted(([a], [b]) => a - b)
    .map(([place, members]): DatedOutcomes => {
      const outcomes = members.map(({ one, row }) => ({ ...one, row }));
      return { place, date: grid.sessions[place]?.label ?? "", outcomes };
    })
    .filter(({ date }) => date >= from);
  return graded.size === 1 ? timeSeriesCoefficient(dates, seed).raw : rawCoefficients(dates);
}

/**
 * For each session, by its index: the statement from the newest short volume before the open, and
 * the return from open to close.
 */
function outcomesOf(volumes: RecordList<ShortVolume>, { daytime }: GridRow, grid: ReturnGrid) {
  const pressure = createShortPressureTracker();
  const outcomes = new Map<number, Omit<StatementOutcome, "row">>();
  let place = 0;
  for (const volume of volumes) {
    pressure.add(volume);
    const { availableAt } = volume;
    while ((grid.sessions[place]?.close ?? Number.POSITIVE_INFINITY) <= availableAt) place++;
    const { z, ratioAt } = pressure.read();
    const followed = daytime[place] ?? Number.NaN;
    if (z === null || ratioAt !== availableAt || Number.isNaN(followed)) continue;
    outcomes.set(place, { z: -z, call: 0, followed });
  }
  return outcomes;
}
