import { medianOf } from "../../grading/median.ts";
import { type DatedOutcomes, type Outcome, withCrossSection } from "./outcomes.ts";

/** Hit rate of calls, with its base rate. */
export interface HitRate {
  readonly calls: number;
  /** Share of hits, in [0, 1]; `null` without calls. */
  readonly rate: number | null;
  /** Share of all outcomes for which the same call would have been right, in [0, 1]. */
  readonly baseRate: number;
  /** Mean simple return after the calls, as a fraction; `null` without calls. */
  readonly meanReturn: number | null;
}

/** Hit rates of one horizon. */
export interface HitRates {
  /** LONG, and a price that rose. */
  readonly long: HitRate;
  /** SHORT, and a price that fell. */
  readonly short: HitRate;
  /** Always LONG: the uninformed benchmark. */
  readonly alwaysLong: HitRate;
  /** Whether score and return lie on the same side of the medians of the date. */
  readonly median: HitRate;
}

/** Counts hits. @returns `undefined` without any outcome. */
export function hitRates(dates: readonly DatedOutcomes[]): HitRates | undefined {
  const all = dates.flatMap(({ outcomes }) => outcomes);
  if (all.length === 0) return undefined;
  const rose = ({ followed }: Outcome) => followed > 0;
  const fell = ({ followed }: Outcome) => followed < 0;
  const sides = withCrossSection(dates).flatMap(({ outcomes }) => medianSides(outcomes));
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
  all: readonly Outcome[],
  isCalled: (outcome: Outcome) => boolean,
  isHit: (outcome: Outcome) => boolean,
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

/** For each instrument off both medians, whether score and return lie on the same side. */
function medianSides(outcomes: readonly Outcome[]): readonly boolean[] {
  const middleZ = medianOf(outcomes.map(({ z }) => z));
  const middleReturn = medianOf(outcomes.map(({ followed }) => followed));
  return outcomes
    .filter(({ z, followed }) => z !== middleZ && followed !== middleReturn)
    .map(({ z, followed }) => z > middleZ === followed > middleReturn);
}
