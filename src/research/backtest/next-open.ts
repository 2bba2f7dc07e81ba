import { createShortPressure } from "../../factors/short-pressure.ts";
import type { InstrumentRecords, RecordList, ShortVolume } from "../../market/records.ts";
import {
  crossSections,
  type DatedOutcomes,
  type DateFigure,
  type Outcome,
  timeSeriesCoefficient,
} from "./outcomes.ts";
import type { GridRow, ReturnGrid } from "./return-grid.ts";

/** Instruments and period of the short-volume analysis. */
interface NextOpenOptions {
  readonly records: readonly InstrumentRecords[];
  readonly grid: ReturnGrid;
  /** Rows of the grid that are graded; one alone is followed through time. */
  readonly graded: ReadonlySet<number>;
  /** ISO date of the first session whose open counts. */
  readonly from: string;
  readonly seed: number;
}

/**
 * For each date, the rank correlation of the negated z of the short ratio (as in the score, high is
 * bullish) with the return from the first open after its publication to the close of that session.
 * It is measured separately because short volume is published after the close: the score at a close
 * has only that of the session before, and when the ordinary returns begin, the effect of one
 * session is over.
 */
export function shortRatioNextOpenCorrelations(wanted: NextOpenOptions): readonly DateFigure[] {
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
  return graded.size === 1
    ? timeSeriesCoefficient(dates, seed).raw
    : crossSections(dates, grid, seed).raw;
}

/** Newest statement before the open of each session, by place. */
function outcomesOf(volumes: RecordList<ShortVolume>, { daytime }: GridRow, grid: ReturnGrid) {
  const pressure = createShortPressure();
  const outcomes = new Map<number, Omit<Outcome, "row">>();
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
