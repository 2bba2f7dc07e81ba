import { rankCorrelation } from "../../statistics/rank-correlation.ts";
import { residualize } from "../../statistics/residuals.ts";
import type { ExposureColumns } from "./exposures.ts";
import { type DatedOutcomes, MIN_NAMES, type StatementOutcome } from "./outcomes.ts";
import type { ReturnGrid } from "./return-grid.ts";

/** An outcome without what beta, volatility, size and sector explain of it. */
export interface NeutralOutcome extends StatementOutcome {
  /** Residual of the return in units of the daily volatility over 63 sessions. */
  readonly residual: number;
  /** The residual times that volatility: a log return as a fraction. */
  readonly neutralReturn: number;
  /** Mean of the log traded value over 63 sessions. */
  readonly size: number;
}

/**
 * Regresses the volatility-scaled returns of a date on beta, log volatility and size, with a
 * constant per sector, and returns the residuals. Outcomes without exposures are left out.
 *
 * @returns `undefined` with fewer than ten outcomes.
 */
export function neutralOutcomes(
  { place, outcomes }: DatedOutcomes,
  grid: ReturnGrid,
  exposuresAt: (place: number) => ExposureColumns,
): readonly NeutralOutcome[] | undefined {
  const { beta, logVolatility, size } = exposuresAt(place);
  const exposed = outcomes.filter(({ row }) => !Number.isNaN(beta[row]));
  if (exposed.length < MIN_NAMES) return undefined;
  const volatilities = exposed.map(({ row }) => Math.exp(logVolatility[row] as number));
  const residuals = residualize(
    exposed.map(({ followed }, index) => followed / (volatilities[index] as number)),
    [beta, logVolatility, size].map((column) => exposed.map(({ row }) => column[row] as number)),
    exposed.map(({ row }) => grid.rows[row]?.instrument.sector ?? ""),
  );
  return exposed.map((outcome, index) => ({
    ...outcome,
    residual: residuals[index] as number,
    neutralReturn: (residuals[index] as number) * (volatilities[index] as number),
    size: size[outcome.row] as number,
  }));
}

/** Rank correlation of scores and residuals; `undefined` with fewer than ten outcomes. */
export const neutralCoefficient = (outcomes: readonly NeutralOutcome[]): number | undefined =>
  outcomes.length < MIN_NAMES
    ? undefined
    : rankCorrelation(
        outcomes.map(({ z }) => z),
        outcomes.map(({ residual }) => residual),
      );

/** Names of the thirds of the instruments of a date by dollar volume, least traded first. */
export const SIZE_THIRDS = ["small", "middle", "large"] as const;

/** The outcomes of a date in thirds by dollar volume, least traded first. */
export function thirdsBySize(
  outcomes: readonly NeutralOutcome[],
): readonly (readonly NeutralOutcome[])[] {
  const sorted = outcomes.toSorted((a, b) => a.size - b.size);
  const edge = (third: number) => Math.round((third * sorted.length) / SIZE_THIRDS.length);
  return SIZE_THIRDS.map((_, third) => sorted.slice(edge(third), edge(third + 1)));
}
