import { FACTORS, type Factor } from "../../factors/reading.ts";
import { DAY_MS } from "../../lib/day.ts";
import type { AssetClass } from "../../market/instrument.ts";
import { SCORE_HORIZON_SESSIONS } from "../../score/backtest-verdicts.ts";
import { CANDIDATE } from "../../score/candidate.ts";
import type { ReturnGrid } from "./return-grid.ts";

/** What can be backtested: one factor alone, the published score, or the candidate method. */
export const BACKTEST_SUBJECTS = [...FACTORS, "composite", CANDIDATE.name] as const;
export type BacktestSubject = Factor | "composite" | typeof CANDIDATE.name;

/** How often scores are graded: once a week or every session. */
export const GRADING_PACES = ["week", "session"] as const;
type GradingPace = (typeof GRADING_PACES)[number];

/** Horizons in sessions; each starts at the close after the score. */
export const horizonsOf = (assetClass: AssetClass): readonly number[] =>
  assetClass === "crypto" ? [1, 7, 21, 63] : [1, 5, 21, 63];

/** Parameters of a backtest. */
export interface BacktestQuestion {
  readonly subject: BacktestSubject;
  /** First session whose scores are graded, ISO date. */
  readonly from: string;
  /** Last session used, also for returns, ISO date. */
  readonly to: string;
  /** Symbols to grade; empty to grade all. The peer group is the whole class in either case. */
  readonly symbols: readonly string[];
  readonly pace: GradingPace;
  /** Seed of all random numbers. */
  readonly seed: number;
}

/** Subjects whose evidence lasts one session. */
const BRIEF: ReadonlySet<BacktestSubject> = new Set(["social", "darkpool"]);

/**
 * Default interval between graded dates of a subject: one session if the subject's evidence lasts
 * only one session, otherwise one week.
 */
export const defaultPace = (subject: BacktestSubject): GradingPace =>
  BRIEF.has(subject) ? "session" : "week";

/** The horizon, in sessions, on which the verdict and the probabilities are based. */
export function headlineHorizonSessions(subject: BacktestSubject, assetClass: AssetClass): number {
  return BRIEF.has(subject) ? 1 : SCORE_HORIZON_SESSIONS[assetClass];
}

/**
 * The subject that is measured beside another one on the same dates; the score and its candidate.
 */
export const COMPARED_SUBJECT: Readonly<Partial<Record<BacktestSubject, BacktestSubject>>> = {
  composite: CANDIDATE.name,
  [CANDIDATE.name]: "composite",
};

/** Sessions a year, for annualization. */
export const SESSIONS_PER_YEAR: Readonly<Record<AssetClass, number>> = {
  stock: 252,
  etf: 252,
  crypto: 365,
};

/** Number of sessions of a class from one graded date to the next. */
export function sessionsPerGradedDate(pace: GradingPace, assetClass: AssetClass): number {
  if (pace === "session") return 1;
  return assetClass === "crypto" ? 7 : 5;
}

/** Days from Monday 1969-12-29 to 1970-01-01, so that weeks start on Mondays. */
const DAYS_BEFORE_EPOCH = 3;

/** Number of the week, Monday to Sunday, in which an ISO date lies. */
const weekOf = (date: string): number =>
  Math.floor((Date.parse(date) / DAY_MS + DAYS_BEFORE_EPOCH) / 7);

/**
 * Indices of the graded sessions: every session from `from` on, or the last session of each week.
 * The last session of the grid is never graded, since no return follows it.
 */
export function gradedSessionIndices(
  { sessions }: ReturnGrid,
  { from, pace }: Pick<BacktestQuestion, "from" | "pace">,
): readonly number[] {
  return [...sessions.keys()].filter((place) => {
    const label = sessions[place]?.label ?? "";
    const next = sessions[place + 1]?.label;
    if (label < from || next === undefined) return false;
    return pace === "session" || weekOf(next) !== weekOf(label);
  });
}
