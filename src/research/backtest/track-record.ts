import {
  gradeRun,
  type SettledStatement,
  TRACK_RECORD_HORIZON_SESSIONS,
} from "../../grading/run-grade.ts";
import { returnAfterStatement, returnFromEntry } from "../../grading/session-returns.ts";
import {
  computeTrackRecordFigures,
  type GradedRun,
  TRACK_RECORD_RULES,
  type TrackRecordFigures,
} from "../../grading/track-record.ts";
import { excludedCoinsAt } from "../../log/outcomes.ts";
import { countKnownRecords, newestKnownRecord } from "../../market/point-in-time.ts";
import type { Bar, InstrumentRecords } from "../../market/records.ts";
import {
  computeSessionVariances,
  forecastSigma,
  RISK_MODEL_BY_CLASS,
  type SessionVariances,
} from "../../risk/forecast.ts";
import { RISK_TABLE } from "../../risk/measured-table.ts";
import { horizonSigma, sessionsToReport } from "../../risk/report-days.ts";
import type { HorizonRiskTable } from "../../risk/table.ts";
import type { Direction } from "../../score/signal-hysteresis.ts";
import type { ReturnGrid } from "./return-grid.ts";
import type { PanelDate, SignalStatement, StatementPanel } from "./statement-panel.ts";

/** Statements about all instruments of a class, and the data needed to grade them. */
interface TrackRecordInput {
  readonly grid: ReturnGrid;
  readonly records: readonly InstrumentRecords[];
  /** Statements of every session and every instrument; absent if they were not collected. */
  readonly panel: StatementPanel | undefined;
  /** Length of a market day in milliseconds. */
  readonly dayMs: number;
}

/**
 * The figures that the public track record would show for the sessions of the backtest, by horizon.
 */
export function backtestTrackRecordFigures(input: TrackRecordInput): readonly TrackRecordFigures[] {
  const { grid, records, panel } = input;
  if (panel === undefined) return [];
  const { assetClass } = grid;
  const group = records.filter(({ instrument }) => instrument.assetClass === assetClass);
  const variances = group.map(({ bars }) => computeSessionVariances(bars));
  return TRACK_RECORD_HORIZON_SESSIONS[assetClass].map((horizon) =>
    computeTrackRecordFigures(
      assetClass,
      horizon,
      panel.dates.flatMap((date) => gradedRun(date, horizon, { ...input, group, variances })),
      TRACK_RECORD_RULES.seed,
    ),
  );
}

/**
 * The input, with the instruments of the class and the variances of their sessions in the order of
 * the grid.
 */
interface Prepared extends TrackRecordInput {
  readonly group: readonly InstrumentRecords[];
  readonly variances: readonly SessionVariances[];
}

const DIRECTION: Readonly<Record<SignalStatement["call"], Direction>> = {
  "1": "LONG",
  "0": "WAIT",
  "-1": "SHORT",
};

function gradedRun(
  { place, statements }: PanelDate,
  horizon: number,
  { grid, group, variances, dayMs }: Prepared,
): readonly GradedRun[] {
  const { assetClass, sessions } = grid;
  // A statement is settled one session after its horizon, when suspicious prices are confirmed.
  const [session, exit, after] = [0, 1 + horizon, 2 + horizon].map((by) => sessions[place + by]);
  if (session === undefined || exit === undefined || after === undefined) return [];
  const { close } = session;
  const copies = excludedCoinsAt(group, { assetClass, close }, dayMs);
  const table = RISK_TABLE.classes[assetClass].find((one) => one.horizon === horizon);
  const sigmaOf = (index: number, at: number, of: HorizonRiskTable): number | null => {
    const measured = variances[index] as SessionVariances;
    const count = countKnownRecords(measured.bars, at);
    const sigma = forecastSigma(RISK_MODEL_BY_CLASS[assetClass], measured, count);
    if (sigma === undefined) return null;
    const found = group[index] as InstrumentRecords;
    const bar = newestKnownRecord(found.bars, at) as Bar;
    return horizonSigma(sigma, of, sessionsToReport(of, found, bar));
  };
  const counts = { failed: 0, unscored: 0, untraded: 0, unsettled: 0, copies: 0 };
  const settled = statements.flatMap((statement, index): readonly SettledStatement[] => {
    const row = grid.rows[index];
    if (statement?.score === undefined || row === undefined) return [];
    const followed = returnAfterStatement(row.returns, place, horizon);
    if (copies.has(row.instrument.symbol)) counts.copies += 1;
    else if (Number.isNaN(followed)) counts.unsettled += 1;
    else {
      return [
        {
          signal: DIRECTION[statement.call],
          score: statement.score,
          sector: assetClass === "stock" ? row.instrument.sector : null,
          sigma: table === undefined ? null : sigmaOf(index, close, table),
          followed,
          fromClose: returnFromEntry(row.returns, place, horizon),
        },
      ];
    }
    return [];
  });
  const grade = gradeRun(settled, table);
  return [{ ...grade, close, exit: exit.close, isLate: false, excluded: counts }];
}
