import { gradeRun, type SettledStatement } from "../grading/run-grade.ts";
import { EXCLUSIONS, type Excluded, type GradedRun } from "../grading/track-record.ts";
import type { HorizonQuantiles } from "../risk/table.ts";
import type { Direction } from "../score/signal-hysteresis.ts";
import type { Outcome } from "./leaves.ts";

/** Members of a signal leaf that are graded. */
export interface LoggedStatement {
  readonly status: string;
  readonly signal?: Direction | undefined;
  readonly scoreRaw?: number | undefined;
  readonly coverage?: number | undefined;
  /** Forecast standard deviations of the log return over the registered horizons; `null` without a
   *  forecast, absent in version 1. */
  readonly sigmas?: readonly number[] | null | undefined;
  /** In version 1: that of one session. */
  readonly sigma?: number | null | undefined;
}

/** When a settlement took place, in Unix milliseconds on the market's clock, and over how long. */
export interface SettlementTerms {
  /** Close of the session of the run. */
  readonly close: number;
  /** When a checkpoint first covered the run. */
  readonly coveredAt: number;
  /** Closes between which returns are measured; `undefined` if those sessions are not known. */
  readonly entry: number | undefined;
  readonly exit: number | undefined;
  /** In sessions. */
  readonly horizon: number;
}

/** Why a signal is not graded, whatever followed: it has no result, or no score. */
export function excludedBy(statement: LoggedStatement | undefined): Outcome | undefined {
  if (statement === undefined || statement.status === "failed") return { status: "failed" };
  return statement.coverage === 0 ? { status: "unscored" } : undefined;
}

/**
 * Grades a settlement, when it is logged and when it is verified.
 *
 * @param statements The statements of the run. @param outcomes In the same order.
 * @param tables Ranges and falls of the class, as its method registered them.
 */
export function gradeSettlement(
  statements: readonly LoggedStatement[],
  outcomes: readonly Outcome[],
  { close, coveredAt, entry, exit, horizon }: SettlementTerms,
  tables: readonly HorizonQuantiles[],
): GradedRun {
  const place = tables.findIndex((table) => table.horizon === horizon);
  const graded = outcomes.flatMap((outcome, at) => {
    const statement = statements[at];
    return statement === undefined
      ? []
      : settled(statement, outcome, sigmaOver(statement, place, horizon));
  });
  const count = (reason: string) => outcomes.filter(({ status }) => status === reason).length;
  return {
    ...gradeRun(graded, tables[place]),
    close,
    exit: exit ?? close,
    isLate: entry !== undefined && coveredAt >= entry,
    excluded: Object.fromEntries(EXCLUSIONS.map((reason) => [reason, count(reason)])) as Excluded,
  };
}

/** The standard deviation that a statement forecasts over a horizon. @param place Of the horizon
 *  among those registered. */
function sigmaOver(
  { sigma = null, sigmas }: LoggedStatement,
  place: number,
  horizon: number,
): number | null {
  if (sigmas !== undefined) return sigmas?.[place] ?? null;
  return sigma === null ? null : sigma * Math.sqrt(horizon);
}

function settled(
  { signal, scoreRaw }: LoggedStatement,
  outcome: Outcome,
  sigma: number | null,
): readonly SettledStatement[] {
  if (outcome.status !== "settled") return [];
  if (signal === undefined || scoreRaw === undefined) return [];
  const { followed, fromClose } = outcome;
  return [{ signal, score: scoreRaw, sigma, followed, fromClose: fromClose ?? Number.NaN }];
}
