import { type HorizonOverlap, summarizeSeries } from "../../statistics/series-summary.ts";
import { mean } from "../../statistics/statistics.ts";
import { marketVolatility } from "./exposures.ts";
import type { GradedDateValue } from "./outcomes.ts";
import type { ReturnGrid } from "./return-grid.ts";

/** Mean of the coefficients in a subset of the dates. */
export interface CoefficientSlice {
  readonly label: string;
  readonly dates: number;
  readonly mean: number;
  /** As in `SeriesSummary`; `null` with fewer than two dates. */
  readonly t: number | null;
}

/** Mean coefficients by calendar year, oldest first. */
export function slicesByYear(
  figures: readonly GradedDateValue[],
  { sessions }: ReturnGrid,
  overlap: HorizonOverlap,
): readonly CoefficientSlice[] {
  const years = Map.groupBy(figures, ({ place }) => (sessions[place]?.label ?? "").slice(0, 4));
  return [...years].map(([label, members]) => sliceOf(label, members, overlap));
}

const REGIMES = ["calm", "usual", "turbulent"] as const;

/**
 * Mean coefficients by volatility regime: terciles of the volatility of the class's equal-weighted
 * return over the 63 sessions before the score. The terciles are known only in hindsight, so the
 * result is descriptive.
 */
export function slicesByRegime(
  figures: readonly GradedDateValue[],
  grid: ReturnGrid,
  overlap: HorizonOverlap,
): readonly CoefficientSlice[] {
  const known = figures.flatMap((figure) => {
    const volatility = marketVolatility(grid, figure.place);
    return volatility === undefined ? [] : [{ figure, volatility }];
  });
  const sorted = known.toSorted((a, b) => a.volatility - b.volatility);
  const edge = (third: number) => Math.round((third * sorted.length) / REGIMES.length);
  return REGIMES.flatMap((label, third) => {
    const members = sorted.slice(edge(third), edge(third + 1));
    return members.length === 0
      ? []
      : [
          sliceOf(
            label,
            members.map(({ figure }) => figure),
            overlap,
          ),
        ];
  });
}

/** The mean coefficient of one subset of the dates. */
export function sliceOf(
  label: string,
  figures: readonly GradedDateValue[],
  overlap: HorizonOverlap,
): CoefficientSlice {
  const values = figures.map(({ value }) => value);
  const t = summarizeSeries(values, overlap)?.t ?? null;
  return { label, dates: values.length, mean: mean(values), t };
}
