import { mean } from "../../statistics/statistics.ts";

/** A forecast probability and its outcome. */
export interface ProbabilityForecast {
  /** Forecast probability, in [0, 1]. */
  readonly probability: number;
  /** 1 if the event happened, else 0. */
  readonly outcome: 0 | 1;
}

/** One bin of a reliability diagram: forecasts of similar probability. */
interface ReliabilityBin {
  readonly forecasts: number;
  readonly meanProbability: number;
  /** Fraction of the bin's forecasts whose event happened, in [0, 1]. */
  readonly frequency: number;
}

/** Accuracy of a set of probability forecasts. */
export interface Calibration {
  readonly forecasts: number;
  /** Brier score, the mean squared error of the probabilities; 0 is perfect. */
  readonly brier: number;
  /** Brier score of always forecasting the overall frequency f of the event: f (1 - f). */
  readonly climatology: number;
  /** 1 - brier / climatology; positive if the forecasts beat the constant forecast. */
  readonly skill: number;
  /** Ten bins with the same number of forecasts, from the lowest probabilities to the highest. */
  readonly bins: readonly ReliabilityBin[];
}

const BINS = 10;

/**
 * Computes the Brier score (1950), its skill against climatology, and reliability.
 *
 * @returns `undefined` without forecasts, or if all outcomes are equal, since climatology is then
 * perfect.
 */
export function calibrate(forecasts: readonly ProbabilityForecast[]): Calibration | undefined {
  const frequency = mean(forecasts.map(({ outcome }) => outcome));
  const climatology = frequency * (1 - frequency);
  if (!(climatology > 0)) return undefined;
  const brier = brierOf(forecasts);
  return {
    forecasts: forecasts.length,
    brier,
    climatology,
    skill: brierSkillOf(forecasts, climatology),
    bins: reliability(forecasts),
  };
}

/** Mean squared error of probabilities (Brier, 1950). */
const brierOf = (forecasts: readonly ProbabilityForecast[]): number =>
  mean(forecasts.map(({ probability, outcome }) => (probability - outcome) ** 2));

/** Brier skill of forecasts: 1 - Brier score / climatology. */
export const brierSkillOf = (
  forecasts: readonly ProbabilityForecast[],
  climatology: number,
): number => 1 - brierOf(forecasts) / climatology;

function reliability(forecasts: readonly ProbabilityForecast[]): readonly ReliabilityBin[] {
  const sorted = forecasts.toSorted((a, b) => a.probability - b.probability);
  const edge = (bin: number) => Math.round((bin * sorted.length) / BINS);
  return Array.from({ length: BINS }, (_, bin) => sorted.slice(edge(bin), edge(bin + 1)))
    .filter((members) => members.length > 0)
    .map((members) => ({
      forecasts: members.length,
      meanProbability: mean(members.map(({ probability }) => probability)),
      frequency: mean(members.map(({ outcome }) => outcome)),
    }));
}
