import type { AssetClass } from "../market/instrument.ts";
import methodEvidence from "./method-evidence.json" with { type: "json" };

/** Verdicts of a backtest; `positive` is the strongest. */
export const BACKTEST_VERDICTS = [
  "insufficient_data",
  "inverted",
  "no_evidence",
  "weak_positive",
  "positive",
] as const;
export type BacktestVerdict = (typeof BACKTEST_VERDICTS)[number];

/** Horizon of a score in sessions; coins have one session a day. */
export const SCORE_HORIZON_SESSIONS: Readonly<Record<AssetClass, number>> = {
  stock: 5,
  etf: 21,
  crypto: 7,
};

/** The horizon of a score in words. */
export const scoreHorizonText = (assetClass: AssetClass): string =>
  `${SCORE_HORIZON_SESSIONS[assetClass]} ${assetClass === "crypto" ? "days" : "sessions"}`;

/** Bounds of a 95 % interval. */
interface Interval {
  readonly low: number;
  readonly high: number;
}

/** A mean coefficient with its 95 % interval and t. */
export interface MeasuredCoefficient {
  readonly mean: number;
  readonly interval: Interval;
  readonly t: number;
  readonly dates: number;
}

/** Rank correlations with later returns: neutral to beta, volatility, size and sector, and raw. */
export interface MeasuredCoefficients {
  readonly neutral: MeasuredCoefficient | null;
  readonly raw: MeasuredCoefficient | null;
}

/** The figures of one class on one set of dates and instruments (`npm run method:evidence`). */
interface SetEvidence {
  readonly assetClass: AssetClass;
  /** The graded instruments, in words. */
  readonly universe: string;
  /** First month of the scores and last month of the returns, as an ISO 8601 interval. */
  readonly period: string;
  /** Horizon in sessions. */
  readonly horizon: number;
  /** The coefficient on which the verdict is based. */
  readonly basis: keyof MeasuredCoefficients;
  readonly verdict: BacktestVerdict;
  readonly score: MeasuredCoefficients;
  /** The candidate method on the same dates; `null` for other classes than stocks. */
  readonly candidate: MeasuredCoefficients | null;
  /** Skill of the walk-forward probability of beating the median; `null` with too few data. */
  readonly probability: { readonly skill: number; readonly interval: Interval | null } | null;
}

/** Names of the sets: see `EVIDENCE_SETS` in test/method/evidence-figures.ts. */
type EvidenceSetName = "select" | "confirm" | "wide" | "whole";

/**
 * The figures of a class on a set, as `npm run method:evidence` wrote them from the JSON output of
 * the backtest.
 *
 * @throws {Error} If the class was not measured on the set.
 */
export function measuredEvidence(set: EvidenceSetName, assetClass: AssetClass): SetEvidence {
  const found = methodEvidence.sets
    .find((one) => one.set === set)
    ?.classes.find((one) => one.assetClass === assetClass);
  if (found === undefined) throw new Error(`There is no evidence of ${assetClass} on ${set}.`);
  return found as SetEvidence;
}

/** Measured predictive value of the directions of one class in the published backtest. */
export interface DirectionEvidence {
  readonly verdict: BacktestVerdict;
  /**
   * Information coefficient: mean rank correlation of the score with the return over `horizon`, of
   * stocks the neutral one, and its 95 % interval; `null` if there were too few data.
   */
  readonly ic: number | null;
  readonly interval: Interval | null;
  readonly basis: keyof MeasuredCoefficients;
  /** Horizon of the returns, in words. */
  readonly horizon: string;
  /** First month of the scores and last month of the returns, as an ISO 8601 interval. */
  readonly period: string;
  /** The graded instruments, in words. */
  readonly universe: string;
  /**
   * Skill of the walk-forward probability of beating the class's median (1 - Brier score / .25),
   * and its 95 % interval; `null` if there were too few data.
   */
  readonly brierSkill: number | null;
  readonly skillInterval: Interval | null;
}

function directionEvidence(
  { basis, score, period, universe, probability, assetClass }: SetEvidence,
  verdict: BacktestVerdict,
): DirectionEvidence {
  const coefficient = score[basis];
  return {
    verdict,
    ic: coefficient?.mean ?? null,
    interval: coefficient?.interval ?? null,
    basis,
    horizon: scoreHorizonText(assetClass),
    period,
    universe,
    brierSkill: probability?.skill ?? null,
    skillInterval: probability?.interval ?? null,
  };
}

/**
 * The evidence on stocks: the dates after those on which the parts of the score were chosen. The
 * verdict is the weaker of that and the one on other stocks.
 */
function stockEvidence(): DirectionEvidence {
  const [confirm, wide] = [measuredEvidence("confirm", "stock"), measuredEvidence("wide", "stock")];
  const strength = ({ verdict }: SetEvidence) => BACKTEST_VERDICTS.indexOf(verdict);
  const weaker = strength(wide) < strength(confirm) ? wide : confirm;
  return directionEvidence(confirm, weaker.verdict);
}

/** The evidence on a class as one set has it. */
function setEvidence(set: EvidenceSetName, assetClass: AssetClass): DirectionEvidence {
  const measured = measuredEvidence(set, assetClass);
  return directionEvidence(measured, measured.verdict);
}

/** The evidence on other stocks: of other names, in the same years. */
export const OTHER_STOCKS_EVIDENCE: DirectionEvidence = setEvidence("wide", "stock");

/**
 * Predictive value of the directions by asset class, as measured by `market-signal backtest`
 * (docs/method-and-backtest.md).
 */
export const DIRECTION_EVIDENCE: Readonly<Record<AssetClass, DirectionEvidence>> = {
  stock: stockEvidence(),
  etf: setEvidence("whole", "etf"),
  crypto: setEvidence("whole", "crypto"),
};
