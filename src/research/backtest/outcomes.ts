import { returnAfterStatement } from "../../grading/session-returns.ts";
import type { ReturnGrid } from "./return-grid.ts";
import type { PanelDate, SignalStatement } from "./statement-panel.ts";

/** What the service states about an instrument at a close, and the return after it. */
export interface StatementOutcome extends SignalStatement {
  /** Index of the instrument's row in the grid. */
  readonly row: number;
  /**
   * Total return over the horizon, as a natural logarithm. The horizon starts at the close after
   * the statement.
   */
  readonly followed: number;
}

/** All statements of one date for which the return is known. */
export interface DatedOutcomes {
  /** Index of the date's session in the grid. */
  readonly place: number;
  /** ISO date of the session. */
  readonly date: string;
  readonly outcomes: readonly StatementOutcome[];
}

/** Joins the statements in a panel with the returns after them. */
export const joinOutcomes = (
  dates: readonly PanelDate[],
  grid: ReturnGrid,
  horizon: number,
): readonly DatedOutcomes[] => dates.map((date) => joinDate(date, grid, horizon));

/** Joins the statements of one date with the returns after them. */
export const joinDate = (
  { place, statements }: PanelDate,
  grid: ReturnGrid,
  horizon: number,
): DatedOutcomes => ({
  place,
  date: grid.sessions[place]?.label ?? "",
  outcomes: statements.flatMap((statement, row) => {
    if (statement === undefined) return [];
    const gridRow = grid.rows[row];
    const followed = gridRow ? returnAfterStatement(gridRow.returns, place, horizon) : Number.NaN;
    return Number.isNaN(followed) ? [] : [{ ...statement, row, followed }];
  }),
});

/** A value for one graded date. */
export interface GradedDateValue {
  readonly place: number;
  readonly value: number;
}

/** Minimum number of instruments in a cross-section. */
export const MIN_NAMES = 10;

/** Whether a date has enough instruments for a cross-section. */
export const hasCrossSection = ({ outcomes }: DatedOutcomes): boolean =>
  outcomes.length >= MIN_NAMES;
