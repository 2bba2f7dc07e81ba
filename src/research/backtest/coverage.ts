import { medianOf } from "../../statistics/median.ts";
import { rankCorrelation } from "../../statistics/rank-correlation.ts";
import { mean } from "../../statistics/statistics.ts";
import type { ReturnGrid } from "./return-grid.ts";
import type { PanelDate, SignalStatement } from "./statement-panel.ts";

/** A value on one date. */
export interface DatedValue {
  /** ISO date of the score. */
  readonly date: string;
  readonly value: number;
}

/** How many instruments and dates of a class have a value of the subject. */
export interface SubjectCoverage {
  /** Number of graded instruments that have traded. */
  readonly instruments: number;
  /** Number of these instruments that stopped trading before the last session of the class. */
  readonly ended: number;
  readonly dates: number;
  /** Number of instruments with a value: by date, and summarized. */
  readonly history: readonly DatedValue[];
  readonly names: { readonly fewest: number; readonly median: number; readonly most: number };
  /** Mean fraction of the trading instruments that had a value, in [0, 1]; 0 without dates. */
  readonly share: number;
  /** Mean rank correlation of the values on consecutive dates; `null` if it cannot be measured. */
  readonly autocorrelation: number | null;
}

/** Counts the graded instruments as of each date, without hindsight. */
export function coverageOf(
  dates: readonly PanelDate[],
  grid: ReturnGrid,
  graded: ReadonlySet<number>,
): SubjectCoverage {
  const names = dates.map(({ statements }) => statements.filter(isPresent).length);
  const lastPlace = grid.sessions.length - 1;
  const ends = [...graded].map((row) => grid.rows[row]?.last ?? -1).filter((last) => last >= 0);
  const spoken = dates.filter(({ trading }) => trading > 0);
  const share = ({ statements, trading }: PanelDate) =>
    statements.filter(isPresent).length / trading;
  return {
    instruments: ends.length,
    ended: ends.filter((last) => last < lastPlace).length,
    dates: dates.length,
    history: dates.map(({ place }, index) => ({
      date: grid.sessions[place]?.label ?? "",
      value: names[index] as number,
    })),
    names: {
      fewest: names.length === 0 ? 0 : Math.min(...names),
      median: names.length === 0 ? 0 : medianOf(names),
      most: Math.max(0, ...names),
    },
    share: spoken.length === 0 ? 0 : mean(spoken.map(share)),
    autocorrelation: autocorrelation(dates),
  };
}

const isPresent = (statement: SignalStatement | undefined) => statement !== undefined;

function autocorrelation(dates: readonly PanelDate[]): number | null {
  const coefficients = dates.slice(1).flatMap(({ statements }, index) => {
    const before = dates[index]?.statements ?? [];
    const pairs = statements.flatMap((now, row) => {
      const then = before[row];
      return now === undefined || then === undefined ? [] : [{ now: now.z, before: then.z }];
    });
    const coefficient = rankCorrelation(
      pairs.map(({ before: z }) => z),
      pairs.map(({ now: z }) => z),
    );
    return coefficient === undefined ? [] : [coefficient];
  });
  return coefficients.length === 0 ? null : mean(coefficients);
}
