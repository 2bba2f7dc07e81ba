import { countNotAbove } from "../factors/peer-rank.ts";
import { countBelow } from "../statistics/statistics.ts";

/**
 * Properties of a stock that its returns have in common with those of other stocks:
 * - `beta`: slope of its returns of 252 sessions on those of the benchmark, as in steadiness
 * - `volatility`: root mean square of its log returns of 63 sessions
 * - `dollarVolume`: exponentially weighted mean of its turnover per session, in quote currency
 */
type Exposure = "beta" | "volatility" | "dollarVolume";

/** The constants of the volatility: its window in sessions, and the minimum number of returns. */
export const EXPOSURE_RULES = { volatilitySessions: 63, minReturns: 32 } as const;

/** Measurements of the stocks of a close, all in the same order; `NaN` if missing. */
export type ExposureInputs = Readonly<Record<Exposure, Float64Array>>;

/**
 * Percentile of a stock in each exposure among the stocks that traded in the same session, in
 * (0, 100); `null` if it cannot be measured.
 */
export type ExposurePercentiles = Readonly<Record<Exposure, number | null>>;

/** The percentiles of the stocks of a close, in the order of the inputs. */
export function exposurePercentiles(inputs: ExposureInputs): readonly ExposurePercentiles[] {
  const beta = percentilesOf(inputs.beta);
  const volatility = percentilesOf(inputs.volatility);
  const dollarVolume = percentilesOf(inputs.dollarVolume);
  return Array.from({ length: inputs.beta.length }, (_, position) => ({
    beta: beta(position),
    volatility: volatility(position),
    dollarVolume: dollarVolume(position),
  }));
}

/**
 * 100 (rank - 0.5) / n of a value by position, among the finite values, with mean ranks for ties;
 * `null` for others.
 */
function percentilesOf(values: Float64Array): (position: number) => number | null {
  const sorted = values.filter(Number.isFinite).sort();
  return (position) => {
    const value = values[position] as number;
    if (!Number.isFinite(value)) return null;
    const start = countBelow(sorted, value);
    return (50 * (start + countNotAbove(sorted, value, start))) / sorted.length;
  };
}
