import { medianOf } from "../../statistics/median.ts";
import { type DatedOutcomes, hasCrossSection, type StatementOutcome } from "./outcomes.ts";

/** Hit rate of directional calls (LONG or SHORT, not options), with the base rate. */
export interface HitRate {
  readonly calls: number;
  /** Fraction of the calls that were right, in [0, 1]; `null` without calls. */
  readonly rate: number | null;
  /** Fraction of all outcomes for which the same call would have been right, in [0, 1]. */
  readonly baseRate: number;
  /** Mean simple return after the calls, as a fraction; `null` without calls. */
  readonly meanReturn: number | null;
}

/** Hit rates over one horizon. */
export interface HitRates {
  /** LONG signals; a hit if the price rose. */
  readonly long: HitRate;
  /** SHORT signals; a hit if the price fell. */
  readonly short: HitRate;
  /** The uninformed benchmark, which always calls LONG. */
  readonly alwaysLong: HitRate;
  /** A hit if the score and the return are on the same side of their medians on the date. */
  readonly median: HitRate;
}

/**
 * Computes hit rates.
 *
 * @returns `undefined` without any outcome.
 */
export function computeHitRates(dates: readonly DatedOutcomes[]): HitRates | undefined {
  const all = dates.flatMap(({ outcomes }) => outcomes);
  if (all.length === 0) return undefined;
  const rose = ({ followed }: StatementOutcome) => followed > 0;
  const fell = ({ followed }: StatementOutcome) => followed < 0;
  const sides = dates.filter(hasCrossSection).flatMap(({ outcomes }) => medianSides(outcomes));
  return {
    long: hitRate(all, ({ call }) => call === 1, rose),
    short: hitRate(all, ({ call }) => call === -1, fell),
    alwaysLong: hitRate(all, () => true, rose),
    median: {
      calls: sides.length,
      rate: sides.length === 0 ? null : sides.filter(Boolean).length / sides.length,
      baseRate: 0.5,
      meanReturn: null,
    },
  };
}

function hitRate(
  all: readonly StatementOutcome[],
  isCalled: (outcome: StatementOutcome) => boolean,
  isHit: (outcome: StatementOutcome) => boolean,
): HitRate {
  const called = all.filter(isCalled);
  const gains = called.map(({ followed }) => Math.expm1(followed));
  return {
    calls: called.length,
    rate: called.length === 0 ? null : called.filter(isHit).length / called.length,
    baseRate: all.filter(isHit).length / all.length,
    meanReturn:
      called.length === 0 ? null : gains.reduce((sum, gain) => sum + gain, 0) / gains.length,
  };
}

/**
 * For each instrument that is at neither median: whether its score and its return are on the same
 * side of their medians.
 */
function medianSides(outcomes: readonly StatementOutcome[]): readonly boolean[] {
  const middleZ = medianOf(outcomes.map(({ z }) => z));
  const middleReturn = medianOf(outcomes.map(({ followed }) => followed));
  return outcomes
    .filter(({ z, followed }) => z !== middleZ && followed !== middleReturn)
    .map(({ z, followed }) => z > middleZ === followed > middleReturn);
}
