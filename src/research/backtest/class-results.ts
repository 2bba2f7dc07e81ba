import type { BacktestVerdict } from "../../score/backtest-verdicts.ts";
import { datesPerHorizon } from "../../statistics/series-summary.ts";
import type { ClassMeasures, HorizonMeasures } from "./class-measures.ts";
import { deflatedSharpe } from "./deflated-sharpe.ts";
import { type MethodTrials, readMethodTrials } from "./method-trials.ts";
import {
  type BacktestQuestion,
  COMPARED_SUBJECT,
  horizonsOf,
  SESSIONS_PER_YEAR,
} from "./question.ts";
import { countTrials, type Trial, type TrialCount, variantOf } from "./trials.ts";
import { verdictOf } from "./verdict.ts";

/** Measures over one horizon, with the verdict. */
export interface HorizonResult extends HorizonMeasures {
  readonly verdict: BacktestVerdict;
  /** Number of tried variants that the verdict allows for. */
  readonly looks: number;
  /** Number of dates whose returns do not overlap. */
  readonly independentDates: number;
  /** Deflated Sharpe ratio of the decile book; `null` if there is no book. */
  readonly deflatedSharpe: number | null;
}

/** Measures of one asset class, with the verdict. */
export interface ClassResult extends ClassMeasures {
  readonly horizons: readonly HorizonResult[];
  /** Verdict on the headline horizon. */
  readonly verdict: BacktestVerdict;
  /** Entry for this variant in the log of tried variants. */
  readonly trial: Trial;
  readonly trials: TrialCount;
  /**
   * Variants tried before the method was chosen; only for stocks, the composite and the candidate
   * method.
   */
  readonly methodTrials: MethodTrials | null;
}

/** Inputs of a verdict other than the measures. */
interface Circumstances {
  readonly question: BacktestQuestion;
  readonly methodVersion: string;
  readonly dataHash: string;
  /** Variants that were tried before this run. */
  readonly earlier: readonly Trial[];
}

/**
 * Adds verdicts to the measures of one run. Every class that could be measured counts as a tried
 * variant of that class.
 */
export function classResults(
  classes: readonly ClassMeasures[],
  { question, methodVersion, dataHash, earlier }: Circumstances,
): readonly ClassResult[] {
  const tried = classes.map((measures) => ({
    measures,
    trial: {
      variant: variantOf(question, measures.assetClass, { methodVersion, dataHash }),
      sharpePerYear: yearlySharpe(measures),
    },
  }));
  const testable = tried.filter(({ measures }) => {
    const headline = headlineOf(measures);
    return headline && decisiveIc(headline, measures.basis);
  });
  const all = [...earlier, ...testable.map(({ trial }) => trial)];
  return tried.map(({ measures, trial }) => ({
    ...withVerdicts(measures, countTrials(all, measures.assetClass)),
    trial,
    trials: countTrials(all, measures.assetClass),
    methodTrials:
      measures.assetClass === "stock" && COMPARED_SUBJECT[question.subject] !== undefined
        ? readMethodTrials()
        : null,
  }));
}

function withVerdicts(measures: ClassMeasures, trials: TrialCount) {
  const horizons = measures.horizons.map((horizon) => resultOfHorizon(horizon, measures, trials));
  const verdict = horizons.find(({ horizon }) => horizon === measures.headline)?.verdict;
  return { ...measures, horizons, verdict: verdict ?? ("insufficient_data" as const) };
}

/**
 * Adds the verdict to one horizon. The headline horizon was fixed in advance; any other horizon
 * counts as found by searching all horizons, which multiplies the number of variants.
 */
function resultOfHorizon(
  measures: HorizonMeasures,
  { assetClass, step, headline, basis }: ClassMeasures,
  { variants, sharpeSdPerYear }: TrialCount,
): HorizonResult {
  const overlap = { horizon: measures.horizon, step };
  const sharpeSd = sharpeSdPerYear / Math.sqrt(SESSIONS_PER_YEAR[assetClass]);
  const sharpe = measures.book?.sharpe ?? null;
  const looks =
    Math.max(1, variants) * (measures.horizon === headline ? 1 : horizonsOf(assetClass).length);
  const decisive = decisiveIc(measures, basis);
  return {
    ...measures,
    verdict: verdictOf(decisive, overlap, looks),
    looks,
    independentDates: Math.floor((decisive?.dates ?? 0) / datesPerHorizon(overlap)),
    deflatedSharpe: sharpe === null ? null : deflatedSharpe(sharpe, { variants, sharpeSd }),
  };
}

/** The coefficient on which the verdict of a horizon is based. */
export const decisiveIc = (
  { ic, neutralIc }: Pick<HorizonMeasures, "ic" | "neutralIc">,
  basis: ClassMeasures["basis"],
) => (basis === "neutral" ? neutralIc : ic);

const headlineOf = ({ horizons, headline }: ClassMeasures): HorizonMeasures | undefined =>
  horizons.find(({ horizon }) => horizon === headline);

function yearlySharpe(measures: ClassMeasures): number | null {
  const sharpe = headlineOf(measures)?.book?.sharpe?.sharpe;
  return sharpe === undefined ? null : sharpe * Math.sqrt(SESSIONS_PER_YEAR[measures.assetClass]);
}
