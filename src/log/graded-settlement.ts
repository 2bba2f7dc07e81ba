import {
  CLAIM_HORIZON_SESSIONS,
  type ClaimStatement,
  claimCoefficient,
  type NeutralCoefficients,
} from "../grading/claim-estimate.ts";
import { gradeRun, type SettledStatement } from "../grading/run-grade.ts";
import {
  EXCLUSION_REASONS,
  type ExclusionCounts,
  type GradedRun,
} from "../grading/track-record.ts";
import type { HorizonQuantiles } from "../risk/table.ts";
import { CANDIDATE } from "../score/candidate.ts";
import type { Direction } from "../score/signal-hysteresis.ts";
import type { SettlementOutcome } from "./leaves.ts";

/** Members of a signal leaf that are needed to grade it. */
export interface LoggedStatement {
  readonly status: string;
  readonly signal?: Direction | undefined;
  /** `null` if the method gives no score. */
  readonly scoreRaw?: number | null | undefined;
  readonly coverage?: number | undefined;
  /**
   * Forecast standard deviations of the log return over the registered horizons; `null` without a
   * forecast, absent without a result.
   */
  readonly sigmas?: readonly number[] | null | undefined;
  /** Absent before version 3 of the leaf format, like `percentiles`. */
  readonly sector?: string | null | undefined;
  readonly percentiles?: ClaimStatement["percentiles"] | null | undefined;
  /** The z of each candidate method. */
  readonly candidates?: Readonly<Record<string, number | null>> | undefined;
}

/** Instants of a settlement, in Unix milliseconds on the market's clock, and its horizon. */
interface SettlementTerms {
  /** Close of the session of the run. */
  readonly close: number;
  /** When a checkpoint first covered the run. */
  readonly coveredAt: number;
  /**
   * Session closes between which returns are measured; `undefined` if those sessions are not known.
   */
  readonly entry: number | undefined;
  readonly exit: number | undefined;
  /** Horizon in sessions. */
  readonly horizon: number;
}

/**
 * Why a signal is excluded regardless of its returns: it has no result or no score. `undefined` if
 * it can be graded.
 */
export function exclusionOutcomeOf(
  statement: LoggedStatement | undefined,
): SettlementOutcome | undefined {
  if (statement === undefined || statement.status === "failed") return { status: "failed" };
  const isUnscored = statement.coverage === 0 || statement.scoreRaw === null;
  return isUnscored ? { status: "unscored" } : undefined;
}

/**
 * Grades a settlement, both when it is logged and when it is verified.
 *
 * @param statements The statements of the run.
 * @param outcomes In the same order as `statements`.
 * @param tables Forecast quantiles and fall percentages of the class, as registered by the method
 * of the run.
 */
export function gradeSettlement(
  statements: readonly LoggedStatement[],
  outcomes: readonly SettlementOutcome[],
  { close, coveredAt, entry, exit, horizon }: SettlementTerms,
  tables: readonly HorizonQuantiles[],
): GradedRun {
  const place = tables.findIndex((table) => table.horizon === horizon);
  const pairs = outcomes.flatMap((outcome, at): readonly SettledPair[] => {
    const statement = statements[at];
    if (statement === undefined || outcome.status !== "settled") return [];
    return [{ statement, outcome, sigma: statement.sigmas?.[place] ?? null }];
  });
  const count = (reason: string) => outcomes.filter(({ status }) => status === reason).length;
  return {
    ...gradeRun(pairs.flatMap(settledStatements), tables[place]),
    close,
    exit: exit ?? close,
    isLate: entry !== undefined && coveredAt >= entry,
    excluded: Object.fromEntries(
      EXCLUSION_REASONS.map((reason) => [reason, count(reason)]),
    ) as ExclusionCounts,
    ...(horizon === CLAIM_HORIZON_SESSIONS && { neutralIc: neutralCoefficients(pairs) }),
  };
}

/** A statement with its return, and the standard deviation that it forecasts over the horizon. */
interface SettledPair {
  readonly statement: LoggedStatement;
  readonly outcome: Extract<SettlementOutcome, { readonly status: "settled" }>;
  readonly sigma: number | null;
}

/** The coefficients of the live claim, of the score and of the candidate method. */
function neutralCoefficients(pairs: readonly SettledPair[]): NeutralCoefficients {
  const coefficientOf = (scoreOf: (statement: LoggedStatement) => number | null | undefined) =>
    claimCoefficient(
      pairs.flatMap(({ statement, outcome: { followed }, sigma }): readonly ClaimStatement[] => {
        const { percentiles, sector = null } = statement;
        const score = scoreOf(statement);
        if (!percentiles || typeof score !== "number") return [];
        return [{ score, followed, sigma, percentiles, sector }];
      }),
    );
  return {
    score: coefficientOf(({ scoreRaw }) => scoreRaw),
    candidate: coefficientOf(({ candidates }) => candidates?.[CANDIDATE.name]),
  };
}

function settledStatements({
  statement: { signal, scoreRaw, sector },
  outcome: { followed, fromClose },
  sigma,
}: SettledPair): readonly SettledStatement[] {
  if (signal === undefined || typeof scoreRaw !== "number") return [];
  return [{ signal, score: scoreRaw, sector, sigma, followed, fromClose: fromClose ?? Number.NaN }];
}
