import { FACTORS, type Factor } from "../../factors/reading.ts";
import type { AssetClass } from "../../market/instrument.ts";
import { SCORE_HORIZONS } from "../../score/backtest-verdicts.ts";
import { CANDIDATE } from "../../score/candidate.ts";
import type { ReturnGrid } from "./return-grid.ts";

/** Possible subjects: one factor alone, the published score, or the candidate method. */
export const SUBJECTS = [...FACTORS, "composite", CANDIDATE.name] as const;
export type Subject = Factor | "composite" | typeof CANDIDATE.name;

/** How often scores are graded. */
export const PACES = ["week", "session"] as const;
export type Pace = (typeof PACES)[number];

/** Horizons in sessions; each begins at the close after the score. */
export const horizonsOf = (assetClass: AssetClass): readonly number[] =>
  assetClass === "crypto" ? [1, 7, 21, 63] : [1, 5, 21, 63];

/** Parameters of a backtest. */
export interface BacktestQuestion {
  readonly subject: Subject;
  /** First session whose scores are graded, ISO date. */
  readonly from: string;
  /** Last session used, also for returns, ISO date. */
  readonly to: string;
  /** Symbols to grade, empty for all; peer groups are always the whole class. */
  readonly symbols: readonly string[];
  readonly pace: Pace;
  /** Seed of all random numbers. */
  readonly seed: number;
}

/** Social and off-exchange evidence lasts one session. */
const BRIEF: ReadonlySet<Subject> = new Set(["social", "darkpool"]);

/**
 * Default interval between graded dates of a subject: every session if its evidence lasts one session.
 */
export const usualPace = (subject: Subject): Pace => (BRIEF.has(subject) ? "session" : "week");

/** The horizon of the verdict and the probabilities in sessions. */
export function headlineHorizon(subject: Subject, assetClass: AssetClass): number {
  if (subject === CANDIDATE.name && assetClass === "stock") return CANDIDATE.rule.horizon;
  return BRIEF.has(subject) ? 1 : SCORE_HORIZONS[assetClass];
}

/** Sessions per year for annualization. */
export const SESSIONS_PER_YEAR: Readonly<Record<AssetClass, number>> = {
  stock: 252,
  etf: 252,
  crypto: 365,
};

/** Sessions of a class from one graded date to the next. */
export function sessionsPerDate(pace: Pace, assetClass: AssetClass): number {
  if (pace === "session") return 1;
  return assetClass === "crypto" ? 7 : 5;
}

/** Days from Monday 1969-12-29 to 1970-01-01, from which ISO dates are counted. */
const DAYS_BEFORE_EPOCH = 3;
const DAY_MS = 86_400_000;

/** Number of the week, Monday to Sunday, that an ISO date belongs to. */
const weekOf = (date: string): number =>
  Math.floor((Date.parse(date) / DAY_MS + DAYS_BEFORE_EPOCH) / 7);

/**
 * Indices of the graded sessions: every one from `from` on, or the last of each week. The last session
 * of the grid has no return after it and is never graded.
 */
export function gradedDates(
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
