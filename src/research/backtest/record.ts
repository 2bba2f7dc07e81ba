import { gradeRun, RECORD_HORIZONS, type SettledStatement } from "../../grading/run-grade.ts";
import { returnAfter, returnOver } from "../../grading/session-returns.ts";
import {
  type GradedRun,
  RECORD_RULES,
  type RecordFigures,
  recordFigures,
} from "../../grading/track-record.ts";
import { copiesAt } from "../../log/outcomes.ts";
import { countKnown, newestKnown } from "../../market/point-in-time.ts";
import type { Bar, InstrumentRecords } from "../../market/records.ts";
import {
  forecastSigma,
  MODEL_OF_CLASS,
  type SessionVariances,
  sessionVariances,
} from "../../risk/forecast.ts";
import { RISK_TABLE } from "../../risk/measured-table.ts";
import { horizonSigma, sessionsToReport } from "../../risk/report-days.ts";
import type { HorizonTable } from "../../risk/table.ts";
import type { Direction } from "../../score/signal-hysteresis.ts";
import type { ReturnGrid } from "./return-grid.ts";
import type { Panel, PanelDate, Statement } from "./statement-panel.ts";

/** Statements of all instruments of a class, and the data that follow them. */
export interface RecordInput {
  readonly grid: ReturnGrid;
  readonly records: readonly InstrumentRecords[];
  /** Statements of every session and every instrument; absent: not collected. */
  readonly panel: Panel | undefined;
  /** Length of a market day in milliseconds. */
  readonly dayMs: number;
}

/** The figures that the track record of the log shows of the same sessions, by horizon. */
export function trackRecordFigures(input: RecordInput): readonly RecordFigures[] {
  const { grid, records, panel } = input;
  if (panel === undefined) return [];
  const { assetClass } = grid;
  const group = records.filter(({ instrument }) => instrument.assetClass === assetClass);
  const variances = group.map(({ bars }) => sessionVariances(bars));
  return RECORD_HORIZONS[assetClass].map((horizon) =>
    recordFigures(
      assetClass,
      horizon,
      panel.dates.flatMap((date) => gradedRun(date, horizon, { ...input, group, variances })),
      RECORD_RULES.seed,
    ),
  );
}

/** Instruments of the class with the variances of their sessions, in the order of the grid. */
interface Prepared extends RecordInput {
  readonly group: readonly InstrumentRecords[];
  readonly variances: readonly SessionVariances[];
}

const DIRECTION: Readonly<Record<Statement["call"], Direction>> = {
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
  // A settlement waits for one session more, in which doubted prices are confirmed.
  const [session, exit, after] = [0, 1 + horizon, 2 + horizon].map((by) => sessions[place + by]);
  if (session === undefined || exit === undefined || after === undefined) return [];
  const { close } = session;
  const copies = copiesAt(group, { assetClass, close }, dayMs);
  const table = RISK_TABLE.classes[assetClass].find((one) => one.horizon === horizon);
  const sigmaOf = (index: number, at: number, of: HorizonTable): number | null => {
    const measured = variances[index] as SessionVariances;
    const count = countKnown(measured.bars, at);
    const sigma = forecastSigma(MODEL_OF_CLASS[assetClass], measured, count);
    if (sigma === undefined) return null;
    const found = group[index] as InstrumentRecords;
    const bar = newestKnown(found.bars, at) as Bar;
    return horizonSigma(sigma, of, sessionsToReport(of, found, bar));
  };
  const counts = { failed: 0, unscored: 0, untraded: 0, unsettled: 0, copies: 0 };
  const settled = statements.flatMap((statement, index): readonly SettledStatement[] => {
    const row = grid.rows[index];
    if (statement?.score === undefined || row === undefined) return [];
    const followed = returnAfter(row.returns, place, horizon);
    if (copies.has(row.instrument.symbol)) counts.copies += 1;
    else if (Number.isNaN(followed)) counts.unsettled += 1;
    else {
      return [
        {
          signal: DIRECTION[statement.call],
          score: statement.score,
          sigma: table === undefined ? null : sigmaOf(index, close, table),
          followed,
          fromClose: returnOver(row.returns, place, horizon),
        },
      ];
    }
    return [];
  });
  const grade = gradeRun(settled, table);
  return [{ ...grade, close, exit: exit.close, isLate: false, excluded: counts }];
}
