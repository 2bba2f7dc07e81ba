import type { AssetClass } from "../market/instrument.ts";
import { CANDIDATE } from "../score/candidate.ts";
import { normalQuantile } from "../statistics/normal.ts";
import {
  CLAIM_HORIZON_SESSIONS,
  estimateClaim,
  type NeutralCoefficients,
} from "./claim-estimate.ts";
import type { GradedRun } from "./track-record.ts";

/** What is claimed of the live score of stocks, and how it will be judged. */
export const LIVE_CLAIM = {
  /** The score that is served; the candidate is judged beside it and decides nothing. */
  subject: "score",
  secondary: CANDIDATE.name,
  assetClass: "stock" satisfies AssetClass,
  /** In sessions. */
  horizon: CLAIM_HORIZON_SESSIONS,
  estimator: {
    name: "mean neutral rank IC",
    formula:
      "For each run that a checkpoint covered before the close from which returns are measured: Spearman's rank correlation of scoreRaw with the residuals of followed / sigma in a least-squares regression on the normal scores of the percentiles of beta, volatility and dollarVolume and on a constant per sector; statements without sigma or a percentile are left out, and runs with fewer than ten. The estimate is the mean over the runs, its t that of equal-weighted cosines as a normal quantile, or the plain t where that is nearer to 0.",
  },
  verdicts: {
    confirmed_live: "t above the normal quantile of 1 - significance / 2 of the look",
    not_confirmed_live: "any other t, which is no proof that the claim is false",
    insufficient_data: "fewer than minDates runs with a coefficient",
  },
  /** Probability of a false `confirmed_live` over all looks is at most half of this. */
  significance: 0.05,
  /**
   * Looks are taken this many years after the claim; each has an equal share of the significance.
   */
  years: [1, 2, 3, 5, 10],
  minDates: 200,
  /**
   * The t to expect of the 369 stocks of the backtest if the claim is true at the size measured.
   */
  power: { ic: 0.015, stocks: 369, years: 2, expectedT: 1.3 },
} as const;

/** Possible verdicts on the claim. */
export const LIVE_CLAIM_VERDICTS = [
  "insufficient_data",
  "not_confirmed_live",
  "confirmed_live",
] as const;
type LiveClaimVerdict = (typeof LIVE_CLAIM_VERDICTS)[number];

/** A day on which the claim is judged. */
interface ClaimLook {
  /** Unix milliseconds on the market's clock. */
  readonly at: number;
  readonly significance: number;
}

/** The terms of a claim, which a log keeps as it registered them. */
export interface LiveClaimTerms {
  /** When the claim was registered, Unix milliseconds on the market's clock. */
  readonly registeredAt: number;
  readonly assetClass: AssetClass;
  /** In sessions. */
  readonly horizon: number;
  readonly minDates: number;
  readonly looks: readonly ClaimLook[];
}

/**
 * The terms of a new claim.
 *
 * @param registeredAt Unix milliseconds on the market's clock.
 */
export function liveClaimTerms(registeredAt: number): LiveClaimTerms {
  const { assetClass, horizon, minDates, significance, years } = LIVE_CLAIM;
  const from = new Date(registeredAt);
  const looks = years.map((after) => ({
    at: Date.UTC(from.getUTCFullYear() + after, from.getUTCMonth(), from.getUTCDate()),
    significance: significance / years.length,
  }));
  return { registeredAt, assetClass, horizon, minDates, looks };
}

/** A mean neutral rank IC with its 95 % interval. */
interface ClaimEstimate {
  /** Number of runs with a coefficient. */
  readonly dates: number;
  readonly value: number;
  readonly low: number;
  readonly high: number;
  readonly t: number;
}

/** The state of a claim. Estimates are `null` with fewer than two runs. */
export interface LiveClaimFigures {
  readonly terms: LiveClaimTerms;
  readonly score: ClaimEstimate | null;
  readonly candidate: ClaimEstimate | null;
  /** The verdicts that are due so far, oldest first. */
  readonly verdicts: readonly { readonly at: number; readonly verdict: LiveClaimVerdict }[];
}

/**
 * The figures of a claim, and the verdicts that are due.
 *
 * @param graded Graded runs of the method that makes the claim, over its horizon, in chronological
 * order.
 * @param now On the market's clock, Unix milliseconds.
 */
export function liveClaimFigures(
  terms: LiveClaimTerms,
  graded: readonly GradedRun[],
  now: number,
): LiveClaimFigures {
  const timely = graded.filter(({ isLate }) => !isLate);
  return {
    terms,
    score: estimateOf(timely, "score"),
    candidate: estimateOf(timely, "candidate"),
    verdicts: terms.looks
      .filter(({ at }) => at <= now)
      .map(({ at, significance }) => {
        const known = timely.filter(({ exit }) => exit <= at);
        return { at, verdict: verdictOn(estimateOf(known, "score"), terms, significance) };
      }),
  };
}

function estimateOf(
  runs: readonly GradedRun[],
  of: keyof NeutralCoefficients,
): ClaimEstimate | null {
  const coefficients = runs.map(({ neutralIc }) => neutralIc?.[of] ?? null);
  const summary = estimateClaim(coefficients, 1);
  if (summary === null) return null;
  const { dates, mean, interval, t } = summary;
  return { dates, value: mean, ...interval, t };
}

function verdictOn(
  estimate: ClaimEstimate | null,
  { minDates }: LiveClaimTerms,
  significance: number,
): LiveClaimVerdict {
  if (estimate === null || estimate.dates < minDates) return "insufficient_data";
  const isAbove = estimate.t > normalQuantile(1 - significance / 2);
  return isAbove ? "confirmed_live" : "not_confirmed_live";
}
