import { type HorizonSpread, horizonVariance } from "../../risk/report-days.ts";
import { CheckFailure } from "../../tree/check.ts";

/** Maximum relative difference between two variance ratios that can be due to rounding. */
const SAME_FORECAST = 1e-9;

/**
 * Ratios of the registered forecast variance over each horizon to the variance over the first
 * horizon: one list without an earnings report, and one for each distance to a report that affects
 * a horizon.
 */
const ratios = new WeakMap<readonly HorizonSpread[], readonly (readonly number[])[]>();

function ratiosOf(tables: readonly HorizonSpread[]): readonly (readonly number[])[] {
  const known =
    ratios.get(tables) ??
    [null, ...distancesOf(tables)].map((reportIn) => {
      const variances = tables.map((table) => horizonVariance(table, reportIn));
      return variances.map((variance) => variance / (variances[0] as number));
    });
  ratios.set(tables, known);
  return known;
}

/** Distances to an earnings report, in sessions, that affect at least one of the horizons. */
function distancesOf(tables: readonly HorizonSpread[]): readonly number[] {
  const distances = tables.flatMap(({ horizon, reportDays }) => {
    if (reportDays === null) return [];
    const { before, factors } = reportDays;
    const after = factors.length - 1 - before;
    return Array.from({ length: after + horizon + before }, (_, index) => index + 1 - after);
  });
  return [...new Set(distances)];
}

/**
 * Checks that the forecasts over all horizons follow from the forecast of one session, in the way
 * that the method registered. If they could differ, the operator could choose the width of each
 * range.
 *
 * @throws {CheckFailure} If the forecasts cannot come from the method.
 */
export function checkForecast(sigmas: readonly number[], tables: readonly HorizonSpread[]): void {
  if (sigmas.length !== tables.length) {
    throw new CheckFailure(
      `forecasts over ${sigmas.length} of the ${tables.length} horizons that its method registers`,
    );
  }
  const stated = sigmas.map((sigma) => (sigma / (sigmas[0] as number)) ** 2);
  const isRight = ratiosOf(tables).some((known) =>
    known.every((ratio, at) => Math.abs((stated[at] as number) / ratio - 1) < SAME_FORECAST),
  );
  if (isRight) return;
  throw new CheckFailure(`forecasts ${sigmas.join(" and ")}, which its method cannot`);
}
