import { mean, normalQuantile } from "../factors/statistics.ts";
import type { AssetClass } from "../market/instrument.ts";
import { RANGES, type RangeProbability } from "../risk/ranges.ts";
import { bootstrapInterval, type ConfidenceInterval } from "./bootstrap.ts";
import { HEADLINE_HORIZONS, RECORD_HORIZONS, type RunGrade } from "./run-grade.ts";
import { summarizeSeries } from "./series-summary.ts";

/** Rules of the track record. */
export interface RecordRules {
  readonly significance: number;
  readonly correctedWithin: number;
  readonly minPeriods: number;
  readonly maxIntervalWidth: number;
  readonly seed: number;
}

/** The rules of a log that begins now; that log keeps them even if they change here. */
export const RECORD_RULES = {
  /** Years after the start of a log at whose end verdicts are given. */
  verdictYears: [1, 2, 3, 5, 10],
  /** Probability that any verdict on a class finds evidence although there is none; each verdict
   *  has an equal share of it (Bonferroni). */
  significance: 0.05,
  /** Sessions after the last settlement of a run in which corrected prices still change its outcomes. */
  correctedWithin: 10,
  /** Minimum number of periods that do not overlap. */
  minPeriods: 60,
  /** Maximum width of the interval of the rank correlation. */
  maxIntervalWidth: 0.1,
  /** Seed of the block bootstrap. */
  seed: 1,
} as const satisfies RecordRules & { readonly verdictYears: readonly number[] };

/** How the statements of a log are graded, fixed before the first of them. */
export interface RecordTerms {
  /** In sessions, shortest first. */
  readonly horizons: Readonly<Partial<Record<AssetClass, readonly number[]>>>;
  /** The horizon of verdicts in sessions. */
  readonly headline: Readonly<Partial<Record<AssetClass, number>>>;
  readonly rules: RecordRules;
  /** When verdicts are given, Unix milliseconds on the market's clock. */
  readonly verdictDates: readonly number[];
}

/** The terms of a log. @param beganAt When it began, Unix milliseconds on the market's clock. */
export function recordTerms(beganAt: number): RecordTerms {
  const began = new Date(beganAt);
  const verdictDates = RECORD_RULES.verdictYears.map((years) =>
    Date.UTC(began.getUTCFullYear() + years, began.getUTCMonth(), began.getUTCDate()),
  );
  return {
    horizons: RECORD_HORIZONS,
    headline: HEADLINE_HORIZONS,
    rules: RECORD_RULES,
    verdictDates,
  };
}

/** Verdicts on the directions of a class. */
export const RECORD_VERDICTS = [
  "insufficient_data",
  "no_evidence",
  "evidence_for",
  "evidence_against",
] as const;
export type RecordVerdict = (typeof RECORD_VERDICTS)[number];

/** A run whose statements are settled. Instants are Unix milliseconds on the market's clock. */
export interface GradedRun extends RunGrade {
  /** Close of the session of the statements. */
  readonly close: number;
  /** Close at which the returns end. */
  readonly exit: number;
  /** Whether the checkpoint that covers the statements was signed only after the returns began. */
  readonly isLate: boolean;
  /** Statements that are not graded, by reason. */
  readonly excluded: Excluded;
}

/**
 * Statements that are not graded. `failed`: there was no result. `unscored`: no factor had a value.
 * `untraded`: there was no price in the session of the statement. `unsettled`: there was no price
 * afterwards. `copies`: coins that copy another one or have a fixed price.
 */
export const EXCLUSIONS = ["failed", "unscored", "untraded", "unsettled", "copies"] as const;
export type Exclusion = (typeof EXCLUSIONS)[number];
export type Excluded = Readonly<Record<Exclusion, number>>;

/** A figure with its 95 % interval. */
interface Estimate extends ConfidenceInterval {
  readonly value: number;
}

/** The track record of one class over one horizon. Returns are log returns as fractions. */
export interface RecordFigures {
  readonly assetClass: AssetClass;
  /** Horizon in sessions. */
  readonly horizon: number;
  /** Closes of the first and the last graded run, Unix milliseconds; `null` without any. */
  readonly from: number | null;
  readonly to: number | null;
  readonly runs: number;
  /** Runs that are not graded since their statements were covered too late. */
  readonly lateRuns: number;
  /** Runs divided by the horizon: periods that do not overlap. */
  readonly periods: number;
  readonly calls: { readonly long: number; readonly short: number; readonly wait: number };
  /** Mean over the runs of the mean excess return of LONG and SHORT; `null` under two runs with calls. */
  readonly meanExcess: Estimate | null;
  /** Mean over the runs of the mean return of LONG and SHORT, without subtracting the universe. */
  readonly meanReturn: number | null;
  /** Share of LONG and SHORT signals whose excess return has the sign of the signal. */
  readonly hitRate: number | null;
  readonly twins: {
    /** Mean return of LONG on every instrument; its excess is 0 by definition. */
    readonly alwaysLong: number | null;
    /** Interval that contains `meanExcess` in 95 % of cases if the signals are shuffled within each
     *  run. */
    readonly shuffled: ConfidenceInterval | null;
  };
  /** Mean rank correlation of scores and returns. */
  readonly ic: (Estimate & { readonly t: number }) | null;
  readonly ranges: readonly { readonly probability: RangeProbability; readonly coverage: number }[];
  /** Brier skill of the forecast probability of a fall, against the frequency of falls; `null` if
   *  either none or all of the prices fell. */
  readonly fallSkill: number | null;
  readonly excluded: Excluded;
}

/** Computes the figures of graded runs. @param graded In chronological order. @param seed Seed of
 *  the bootstrap. */
export function recordFigures(
  assetClass: AssetClass,
  horizon: number,
  graded: readonly GradedRun[],
  seed: number,
): RecordFigures {
  const timely = graded.filter(({ isLate }) => !isLate);
  const runs = timely.filter(({ long, short, wait }) => long + short + wait > 0);
  const total = (of: (run: GradedRun) => number) => timely.reduce((sum, run) => sum + of(run), 0);
  const called = runs.filter((run) => callsOf(run) > 0);
  const calls = { long: total((one) => one.long), short: total((one) => one.short) };
  const directed = calls.long + calls.short;
  const forecasts = total((run) => run.forecasts);
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
    ranges: RANGES.flatMap((probability, index) =>
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
      EXCLUSIONS.map((reason) => [reason, total(({ excluded }) => excluded[reason])]),
    ) as Excluded,
  };
}

const callsOf = ({ long, short }: RunGrade): number => long + short;

function meanOf(values: readonly number[], horizon: number, seed: number): Estimate | null {
  const interval = bootstrapInterval(values, horizon, seed);
  return interval === undefined ? null : { value: mean(values), ...interval };
}

/** Sums of independent shuffles are close to normal: 0 +- 1.96 standard deviations of their mean. */
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
): RecordFigures["ic"] {
  const summary = summarizeSeries(coefficients(runs), { horizon, step: 1 }, seed);
  if (summary === undefined) return null;
  return { value: summary.mean, ...summary.interval, t: summary.neweyWestT };
}

const coefficients = (runs: readonly GradedRun[]): readonly number[] =>
  runs.flatMap(({ ic }) => ic ?? []);

function fallSkill(forecasts: number, falls: number, errors: number): number | null {
  const frequency = falls / forecasts;
  const climatology = frequency * (1 - frequency);
  return climatology > 0 ? 1 - errors / forecasts / climatology : null;
}

/** A point of the curve of a record. */
interface CurvePoint {
  /** Close of the session, Unix milliseconds. */
  readonly close: number;
  /** Mean excess returns so far, each spread over its horizon. */
  readonly sum: number;
  /** Half width of the band that contains 95 % of shuffled signals. */
  readonly chance: number;
}

/**
 * The cumulative excess return of LONG and SHORT over the graded runs, with the 95 % band of
 * shuffled signals. Each return is divided by the horizon, because as many runs as the horizon has
 * sessions are open at a time.
 *
 * @param horizon In sessions.
 */
export function excessCurve(runs: readonly GradedRun[], horizon: number): readonly CurvePoint[] {
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
  /** Unix milliseconds on the market's clock. */
  readonly at: number;
  readonly verdict: RecordVerdict;
}

/**
 * The verdicts that are due so far, oldest first. Each uses the returns that had ended by its date,
 * and its share of the significance: the interval of the mean rank correlation lies above 0
 * (`evidence_for`), below 0 (`evidence_against`) or includes it. `insufficient_data`: under 60
 * periods that do not overlap, or an interval wider than .1. The terms of a log may set other
 * bounds.
 *
 * @param horizon Horizon of the verdicts, in sessions.
 * @param now On the market's clock, Unix milliseconds.
 */
export function recordVerdicts(
  horizon: number,
  graded: readonly GradedRun[],
  { rules, verdictDates }: Pick<RecordTerms, "rules" | "verdictDates">,
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
  { minPeriods, maxIntervalWidth, seed }: RecordRules,
  significance: number,
): RecordVerdict {
  const interval = bootstrapInterval(coefficients(runs), horizon, seed, significance);
  if (interval === undefined || runs.length / horizon < minPeriods) return "insufficient_data";
  if (interval.high - interval.low > maxIntervalWidth) return "insufficient_data";
  if (interval.low > 0) return "evidence_for";
  return interval.high < 0 ? "evidence_against" : "no_evidence";
}
