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
  readonly sigma?: number | null | undefined;
}

/** Instants of a settlement, Unix milliseconds on the market's clock. */
export interface SettlementTimes {
  /** Close of the session of the run. */
  readonly close: number;
  /** When a checkpoint first covered the run. */
  readonly coveredAt: number;
  /** Closes between which returns are measured; `undefined` if those sessions are not known. */
  readonly entry: number | undefined;
  readonly exit: number | undefined;
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
 * @param table Ranges and falls of the class over the horizon.
 */
export function gradeSettlement(
  statements: readonly LoggedStatement[],
  outcomes: readonly Outcome[],
  { close, coveredAt, entry, exit }: SettlementTimes,
  table: HorizonQuantiles | undefined,
): GradedRun {
  const graded = outcomes.flatMap((outcome, at) => settled(statements[at], outcome));
  const count = (reason: string) => outcomes.filter(({ status }) => status === reason).length;
  return {
    ...gradeRun(graded, table),
    close,
    exit: exit ?? close,
    isLate: entry !== undefined && coveredAt >= entry,
    excluded: Object.fromEntries(EXCLUSIONS.map((reason) => [reason, count(reason)])) as Excluded,
  };
}

function settled(
  statement: LoggedStatement | undefined,
  outcome: Outcome,
): readonly SettledStatement[] {
  if (outcome.status !== "settled" || statement === undefined) return [];
  const { signal, scoreRaw, sigma = null } = statement;
  if (signal === undefined || scoreRaw === undefined) return [];
  const { followed, fromClose } = outcome;
  return [{ signal, score: scoreRaw, sigma, followed, fromClose: fromClose ?? Number.NaN }];
}
