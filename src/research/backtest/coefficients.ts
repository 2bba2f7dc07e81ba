import { shuffled } from "../../statistics/random.ts";
import { rankCorrelation, standardizedRankProducts } from "../../statistics/rank-correlation.ts";
import type { ExposureColumns } from "./exposures.ts";
import { neutralCoefficient, neutralOutcomes, SIZE_THIRDS, thirdsBySize } from "./neutral.ts";
import {
  type DatedOutcomes,
  type GradedDateValue,
  hasCrossSection,
  type StatementOutcome,
} from "./outcomes.ts";
import type { ReturnGrid } from "./return-grid.ts";

/** Rank information coefficients of one horizon, one per date that has a cross-section. */
interface CoefficientSeries {
  readonly raw: readonly GradedDateValue[];
  /**
   * Coefficients against volatility-scaled returns, after regressing out beta, volatility, size and
   * sector.
   */
  readonly neutral: readonly GradedDateValue[];
  /** The neutral coefficients within each third of `SIZE_THIRDS`. */
  readonly thirds: readonly (readonly GradedDateValue[])[];
  /** Coefficients of the same statements shuffled among instruments, as a placebo. */
  readonly shuffled: readonly GradedDateValue[];
}

/** Spearman's rank correlation of statements and returns in the cross-section of every date. */
export const rawCoefficients = (dates: readonly DatedOutcomes[]): readonly GradedDateValue[] =>
  dates.filter(hasCrossSection).flatMap(({ place, outcomes }) => {
    const value = rankCorrelation(zOf(outcomes), followedOf(outcomes));
    return value === undefined ? [] : [{ place, value }];
  });

/** Computes Spearman's rank correlation for the cross-section of every date. */
export function correlateCrossSections(
  dates: Iterable<DatedOutcomes>,
  grid: ReturnGrid,
  exposuresAt: (place: number) => ExposureColumns,
  seed: number,
): CoefficientSeries {
  const series = (): GradedDateValue[] => [];
  const [raw, neutral, permuted] = [series(), series(), series()];
  const thirds = SIZE_THIRDS.map(series);
  for (const date of dates) {
    if (!hasCrossSection(date)) continue;
    const { place, outcomes } = date;
    const add = (to: GradedDateValue[] | undefined, value: number | undefined) => {
      if (value !== undefined) to?.push({ place, value });
    };
    const followed = followedOf(outcomes);
    add(raw, rankCorrelation(zOf(outcomes), followed));
    add(permuted, rankCorrelation(shuffled(zOf(outcomes), seed + place), followed));
    const residuals = neutralOutcomes(date, grid, exposuresAt);
    if (residuals === undefined) continue;
    add(neutral, neutralCoefficient(residuals));
    for (const [third, part] of thirdsBySize(residuals).entries()) {
      add(thirds[third], neutralCoefficient(part));
    }
  }
  return { raw, neutral, thirds, shuffled: permuted };
}

const zOf = (outcomes: readonly StatementOutcome[]) => outcomes.map(({ z }) => z);
const followedOf = (outcomes: readonly StatementOutcome[]) =>
  outcomes.map(({ followed }) => followed);

/**
 * For a single instrument, the contribution of each date to the rank correlation over time between
 * scores and the returns after them. The mean of the contributions is the coefficient.
 */
export function timeSeriesCoefficient(
  dates: readonly DatedOutcomes[],
  seed: number,
): CoefficientSeries {
  const single = dates.flatMap(({ place, outcomes }) =>
    outcomes.map(({ z, followed }) => ({ place, z, followed })),
  );
  const followed = single.map((one) => one.followed);
  const series = (z: readonly number[]) =>
    (standardizedRankProducts(z, followed) ?? []).map((value, index) => ({
      place: (single[index] as (typeof single)[number]).place,
      value,
    }));
  const z = single.map((one) => one.z);
  return { raw: series(z), neutral: [], thirds: [], shuffled: series(shuffled(z, seed)) };
}
