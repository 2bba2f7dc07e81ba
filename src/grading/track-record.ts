import type { AssetClass } from "../market/instrument.ts";
import { RANGE_PROBABILITIES, type RangeProbability } from "../risk/ranges.ts";
import { bootstrapInterval, type ConfidenceInterval } from "../statistics/bootstrap.ts";
import { normalQuantile } from "../statistics/normal.ts";
import { hasVariance, neweyWestStandardError } from "../statistics/series-summary.ts";
import { mean, sampleSd } from "../statistics/statistics.ts";
import type { NeutralCoefficients } from "./claim-estimate.ts";
import {
  HEADLINE_HORIZON_SESSIONS,
  type RunGradingResult,
  TRACK_RECORD_HORIZON_SESSIONS,
} from "./run-grade.ts";
import { type SectorFigures, type SignalFigures, sectorFigures, signalFigures } from "./splits.ts";

/** Parameters of the verdicts and of price corrections in a track record. */
interface TrackRecordRules {
  readonly significance: number;
  readonly correctedWithin: number;
  readonly minPeriods: number;
  readonly maxIntervalWidth: number;
  readonly seed: number;
}

/**
 * Rules of new signal logs. A log keeps the rules that it began with even if these constants
 * change.
 */
export const TRACK_RECORD_RULES = {
  /** Verdicts are given this many years after the start of a log. */
  verdictYears: [1, 2, 3, 5, 10],
  /**
   * Probability that at least one verdict on a class finds evidence when there is none; each
   * verdict is tested at an equal share of this probability (Bonferroni).
   */
  significance: 0.05,
  /**
   * Number of sessions after the last settlement of a run within which corrected prices still
   * change its outcomes.
   */
  correctedWithin: 10,
  /** Minimum number of non-overlapping periods for a verdict. */
  minPeriods: 60,
  /** Maximum width of the confidence interval of the mean rank correlation for a verdict. */
  maxIntervalWidth: 0.1,
  /** Seed of the block bootstrap. */
  seed: 1,
} as const satisfies TrackRecordRules & { readonly verdictYears: readonly number[] };

/** How the statements of a log are graded, fixed before the first statement. */
export interface TrackRecordTerms {
  /** Horizons in sessions by asset class, shortest first. */
  readonly horizons: Readonly<Partial<Record<AssetClass, readonly number[]>>>;
  /** Horizon of verdicts by asset class, in sessions. */
  readonly headline: Readonly<Partial<Record<AssetClass, number>>>;
  readonly rules: TrackRecordRules;
  /** Dates at which verdicts are given, Unix milliseconds on the market's clock. */
  readonly verdictDates: readonly number[];
}

/**
 * The terms of a new log.
 *
 * @param beganAt When the log begins, Unix milliseconds on the market's clock.
 */
export function trackRecordTerms(beganAt: number): TrackRecordTerms {
  const began = new Date(beganAt);
  const verdictDates = TRACK_RECORD_RULES.verdictYears.map((years) =>
    Date.UTC(began.getUTCFullYear() + years, began.getUTCMonth(), began.getUTCDate()),
  );
  return {
    horizons: TRACK_RECORD_HORIZON_SESSIONS,
    headline: HEADLINE_HORIZON_SESSIONS,
    rules: TRACK_RECORD_RULES,
    verdictDates,
  };
}

/** Possible verdicts on the signals of an asset class. */
export const TRACK_RECORD_VERDICTS = [
  "insufficient_data",
  "no_evidence",
  "evidence_for",
  "evidence_against",
] as const;
export type TrackRecordVerdict = (typeof TRACK_RECORD_VERDICTS)[number];

/** A run whose statements are settled. Instants are Unix milliseconds on the market's clock. */
export interface GradedRun extends RunGradingResult {
  /** Close of the session that the statements are based on. */
  readonly close: number;
  /** Close at which the returns end. */
  readonly exit: number;
  /** Whether the checkpoint that covers the statements was signed only after the returns began. */
  readonly isLate: boolean;
  /** Number of statements that are not graded, by reason. */
  readonly excluded: ExclusionCounts;
  /** Coefficients of the live claim; absent over other horizons. */
  readonly neutralIc?: NeutralCoefficients | undefined;
}

/**
 * Reasons why a statement is not graded. `failed`: there was no result. `unscored`: there was no
 * score, or no factor had a value. `untraded`: there was no price in the session of the statement.
 * `unsettled`: there was no price after that session. `copies`: the coin copies another coin or has
 * a fixed price.
 */
export const EXCLUSION_REASONS = ["failed", "unscored", "untraded", "unsettled", "copies"] as const;
export type ExclusionReason = (typeof EXCLUSION_REASONS)[number];
export type ExclusionCounts = Readonly<Record<ExclusionReason, number>>;

/** An estimate with its 95 % confidence interval. */
interface Estimate extends ConfidenceInterval {
  readonly value: number;
}

/** The track record of one class over one horizon. Returns are log returns as fractions. */
export interface TrackRecordFigures {
  readonly assetClass: AssetClass;
  /** Horizon in sessions. */
  readonly horizon: number;
  /** Closes of the first and the last graded run, Unix milliseconds; `null` without graded runs. */
  readonly from: number | null;
  readonly to: number | null;
  readonly runs: number;
  /** Number of runs that are not graded because a checkpoint covered their statements too late. */
  readonly lateRuns: number;
  /** Number of non-overlapping periods: runs divided by the horizon. */
  readonly periods: number;
  readonly calls: { readonly long: number; readonly short: number; readonly wait: number };
  /**
   * Mean excess return of LONG and SHORT signals, averaged within each run and then over the runs;
   * `null` with fewer than two runs that have such signals.
   */
  readonly meanExcess: Estimate | null;
  /**
   * Mean return of LONG and SHORT signals, averaged like `meanExcess` but without subtracting the
   * mean return of the universe.
   */
  readonly meanReturn: number | null;
  /** Share of LONG and SHORT signals whose excess return has the sign of the signal. */
  readonly hitRate: number | null;
  readonly twins: {
    /**
     * Mean return of a benchmark that is LONG on every instrument; its excess return is 0 by
     * definition.
     */
    readonly alwaysLong: number | null;
    /**
     * Interval that contains `meanExcess` with 95 % probability if signals are shuffled within each
     * run.
     */
    readonly shuffled: ConfidenceInterval | null;
  };
  /** Mean rank correlation of scores and returns. */
  readonly ic: (Estimate & { readonly t: number }) | null;
  readonly ranges: readonly { readonly probability: RangeProbability; readonly coverage: number }[];
  /**
   * Brier skill score of the forecast probability of a fall, against the observed frequency of
   * falls; `null` if that frequency is 0 or 1.
   */
  readonly fallSkill: number | null;
  readonly excluded: ExclusionCounts;
  /** By signal and by sector, over the entries that say their sector; empty if there are none. */
  readonly bySignal: readonly SignalFigures<Estimate>[];
  readonly bySector: readonly SectorFigures[];
}

/**
 * Computes the figures of graded runs.
 *
 * @param graded In chronological order.
 * @param seed Seed of the bootstrap.
 */
export function computeTrackRecordFigures(
  assetClass: AssetClass,
  horizon: number,
  graded: readonly GradedRun[],
  seed: number,
): TrackRecordFigures {
  const timely = graded.filter(({ isLate }) => !isLate);
  const runs = timely.filter(({ long, short, wait }) => long + short + wait > 0);
  const total = (of: (run: GradedRun) => number) => timely.reduce((sum, run) => sum + of(run), 0);
  const called = runs.filter((run) => callsOf(run) > 0);
  const calls = { long: total((one) => one.long), short: total((one) => one.short) };
  const directed = calls.long + calls.short;
  const forecasts = total((run) => run.forecasts);
  const splits = runs.flatMap(({ split }) => split ?? []);
  return {
    assetClass,
    horizon,
    from: runs[0]?.close ?? null,
    to: runs.at(-1)?.close ?? null,
    runs: runs.length,
    lateRuns: graded.length - timely.length,
    periods: runs.length / horizon,
    calls: { ...calls, wait: total((run) => run.wait) },
    meanExcess: meanOf(
      called.map((run) => run.excess / callsOf(run)),
      horizon,
      seed,
    ),
    meanReturn: called.length === 0 ? null : mean(called.map((run) => run.followed / callsOf(run))),
    hitRate: directed === 0 ? null : total((run) => run.hits) / directed,
    twins: {
      alwaysLong: runs.length === 0 ? null : mean(runs.map(({ universe }) => universe)),
      shuffled: shuffledInterval(called),
    },
    ic: coefficientOf(runs, horizon, seed),
    ranges: RANGE_PROBABILITIES.flatMap((probability, index) =>
      forecasts === 0
        ? []
        : [{ probability, coverage: total(({ within }) => within[index] ?? 0) / forecasts }],
    ),
    fallSkill: fallSkill(
      forecasts,
      total((run) => run.falls),
      total((run) => run.fallErrors),
    ),
    excluded: Object.fromEntries(
      EXCLUSION_REASONS.map((reason) => [reason, total(({ excluded }) => excluded[reason])]),
    ) as ExclusionCounts,
    bySignal: signalFigures(splits, (values) => meanOf(values, horizon, seed)),
    bySector: sectorFigures(splits),
  };
}

const callsOf = ({ long, short }: RunGradingResult): number => long + short;

function meanOf(values: readonly number[], horizon: number, seed: number): Estimate | null {
  const interval = bootstrapInterval(values, horizon, seed);
  return interval === undefined ? null : { value: mean(values), ...interval };
}

/**
 * 95 % interval of the mean excess return if signals are shuffled. Sums of independent shuffles are
 * close to normal, so the interval is 0 +- 1.96 standard deviations of the mean.
 */
function shuffledInterval(called: readonly GradedRun[]): ConfidenceInterval | null {
  if (called.length === 0) return null;
  const variances = called.map((run) => run.shuffledVariance / callsOf(run) ** 2);
  const high = (normalQuantile(0.975) * Math.sqrt(mean(variances))) / Math.sqrt(called.length);
  return { low: -high, high };
}

function coefficientOf(
  runs: readonly GradedRun[],
  horizon: number,
  seed: number,
): TrackRecordFigures["ic"] {
  const values = coefficients(runs);
  const estimate = meanOf(values, horizon, seed);
  if (estimate === null || !hasVariance(values)) return null;
  const error = neweyWestStandardError(values, horizon);
  const plainError = sampleSd(values) / Math.sqrt(values.length);
  return { ...estimate, t: estimate.value / (error > 0 ? error : plainError) };
}

const coefficients = (runs: readonly GradedRun[]): readonly number[] =>
  runs.flatMap(({ ic }) => ic ?? []);

function fallSkill(forecasts: number, falls: number, errors: number): number | null {
  const frequency = falls / forecasts;
  const climatology = frequency * (1 - frequency);
  return climatology > 0 ? 1 - errors / forecasts / climatology : null;
}

/** A point of the curve of cumulative excess returns. */
interface CurvePoint {
  /** Close of the session, Unix milliseconds. */
  readonly close: number;
  /**
   * Cumulative mean excess return: the sum of the mean excess returns of the runs so far, each
   * divided by the horizon.
   */
  readonly sum: number;
  /** Half-width of the band that contains 95 % of the sums of shuffled signals. */
  readonly chance: number;
}

/**
 * The cumulative excess return of LONG and SHORT over the graded runs, with the 95 % band of
 * shuffled signals. Each return is divided by the horizon, because the number of runs open at a
 * time equals the number of sessions in the horizon.
 *
 * @param horizon In sessions.
 */
export function excessReturnCurve(
  runs: readonly GradedRun[],
  horizon: number,
): readonly CurvePoint[] {
  const width = normalQuantile(0.975);
  let [sum, variance] = [0, 0];
  return runs.flatMap((run): readonly CurvePoint[] => {
    const calls = run.long + run.short;
    if (run.isLate || calls === 0) return [];
    sum += run.excess / calls / horizon;
    variance += run.shuffledVariance / (calls * horizon) ** 2;
    return [{ close: run.close, sum, chance: width * Math.sqrt(variance) }];
  });
}

/** A verdict at one of the predetermined dates. */
export interface DatedVerdict {
  /** Date of the verdict, Unix milliseconds on the market's clock. */
  readonly at: number;
  readonly verdict: TrackRecordVerdict;
}

/**
 * The verdicts that are due so far, oldest first. Each uses the returns that had ended by its date,
 * and an equal share of the significance level. The confidence interval of the mean rank
 * correlation decides: it lies above 0 (`evidence_for`), below 0 (`evidence_against`) or includes 0
 * (`no_evidence`). `insufficient_data`: fewer than 60 non-overlapping periods, or an interval wider
 * than .1. These two limits are those of new logs; a log keeps the limits in its own terms.
 *
 * @param horizon Horizon of the verdicts, in sessions.
 * @param now On the market's clock, Unix milliseconds.
 */
export function trackRecordVerdicts(
  horizon: number,
  graded: readonly GradedRun[],
  { rules, verdictDates }: Pick<TrackRecordTerms, "rules" | "verdictDates">,
  now: number,
): readonly DatedVerdict[] {
  const significance = rules.significance / verdictDates.length;
  return verdictDates
    .filter((at) => at <= now)
    .map((at) => {
      const runs = graded.filter(({ exit, isLate }) => !isLate && exit <= at);
      return { at, verdict: verdictOn(runs, horizon, rules, significance) };
    });
}

function verdictOn(
  runs: readonly GradedRun[],
  horizon: number,
  { minPeriods, maxIntervalWidth, seed }: TrackRecordRules,
  significance: number,
): TrackRecordVerdict {
  const interval = bootstrapInterval(coefficients(runs), horizon, seed, significance);
  if (interval === undefined || runs.length / horizon < minPeriods) return "insufficient_data";
  if (interval.high - interval.low > maxIntervalWidth) return "insufficient_data";
  if (interval.low > 0) return "evidence_for";
  return interval.high < 0 ? "evidence_against" : "no_evidence";
}
