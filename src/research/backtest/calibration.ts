import { mean } from "../../factors/statistics.ts";

/** A forecast probability and its outcome. */
export interface Forecast {
  /** Forecast probability, in [0, 1]. */
  readonly probability: number;
  /** 1 if the event happened, else 0. */
  readonly outcome: 0 | 1;
}

/** One bin of a reliability diagram: forecasts of similar probability. */
interface ReliabilityBin {
  readonly forecasts: number;
  readonly meanProbability: number;
  /** Share of the events that happened. */
  readonly frequency: number;
}

/** Accuracy of probability forecasts. */
export interface Calibration {
  readonly forecasts: number;
  /** Mean squared error of the probabilities; 0 is perfect, lower is better. */
  readonly brier: number;
  /** Brier score of the constant forecast of the overall frequency, f (1 - f). */
  readonly climatology: number;
  /** 1 - brier / climatology: above 0 is better than the constant forecast. */
  readonly skill: number;
  /** Ten bins with the same number of forecasts, from the lowest probabilities to the highest. */
  readonly bins: readonly ReliabilityBin[];
}

const BINS = 10;

/**
 * Brier score (1950), its skill against climatology, and reliability.
 *
 * @returns `undefined` without forecasts, or if all outcomes are equal: climatology is then perfect.
 */
export function calibrate(forecasts: readonly Forecast[]): Calibration | undefined {
  const frequency = mean(forecasts.map(({ outcome }) => outcome));
  const climatology = frequency * (1 - frequency);
  if (!(climatology > 0)) return undefined;
  const brier = brierOf(forecasts);
  return {
    forecasts: forecasts.length,
    brier,
    climatology,
    skill: skillOf(forecasts, climatology),
    bins: reliability(forecasts),
  };
}

/** Mean squared error of probabilities (Brier, 1950). */
const brierOf = (forecasts: readonly Forecast[]): number =>
  mean(forecasts.map(({ probability, outcome }) => (probability - outcome) ** 2));

/** 1 - Brier score / climatology. */
export const skillOf = (forecasts: readonly Forecast[], climatology: number): number =>
  1 - brierOf(forecasts) / climatology;

function reliability(forecasts: readonly Forecast[]): readonly ReliabilityBin[] {
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
