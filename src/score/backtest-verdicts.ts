import type { AssetClass } from "../market/instrument.ts";

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
  stock: 21,
  etf: 21,
  crypto: 7,
};

/** The horizon of a score in words. */
export const scoreHorizonText = (assetClass: AssetClass): string =>
  `${SCORE_HORIZON_SESSIONS[assetClass]} ${assetClass === "crypto" ? "days" : "sessions"}`;

/** Measured predictive value of the directions of one class in the published backtest. */
export interface DirectionEvidence {
  readonly verdict: BacktestVerdict;
  /**
   * Information coefficient: mean rank correlation of the score with the return over `horizon`, and
   * its 95 % interval; `null` if there were too few data.
   */
  readonly ic: number | null;
  readonly interval: { readonly low: number; readonly high: number } | null;
  /** Horizon of the returns, in words. */
  readonly horizon: string;
  /** First and last month of the scores, as an ISO 8601 interval. */
  readonly period: string;
  /** The graded instruments, in words. */
  readonly universe: string;
  /**
   * Skill of the walk-forward probability of beating the class's median (1 - Brier score / .25),
   * and its 95 % interval; `null` if there were too few data.
   */
  readonly brierSkill: number | null;
  readonly skillInterval: { readonly low: number; readonly high: number } | null;
}

/**
 * Predictive value of the directions by asset class, as measured by `market-signal backtest`
 * (docs/method-and-backtest.md).
 */
export const DIRECTION_EVIDENCE: Readonly<Record<AssetClass, DirectionEvidence>> = {
  stock: {
    verdict: "no_evidence",
    ic: -0.0121,
    interval: { low: -0.0332, high: 0.009 },
    horizon: scoreHorizonText("stock"),
    period: "2014-07/2024-12",
    universe: "369 large US stocks",
    brierSkill: -0.00008,
    skillInterval: { low: -0.00034, high: 0.00016 },
  },
  etf: {
    verdict: "insufficient_data",
    ic: null,
    interval: null,
    horizon: scoreHorizonText("etf"),
    period: "2014-07/2024-12",
    universe: "6 funds",
    brierSkill: null,
    skillInterval: null,
  },
  crypto: {
    verdict: "no_evidence",
    ic: 0.0263,
    interval: { low: -0.0144, high: 0.0671 },
    horizon: scoreHorizonText("crypto"),
    period: "2019-06/2024-12",
    universe: "13 coins",
    brierSkill: 0.00036,
    skillInterval: { low: -0.00013, high: 0.00079 },
  },
};
