import { bootstrapInterval, type ConfidenceInterval } from "../../../statistics/bootstrap.ts";
import { normalQuantile } from "../../../statistics/normal.ts";
import { ranks } from "../../../statistics/rank-correlation.ts";
import { datesPerHorizon, type HorizonOverlap } from "../../../statistics/series-summary.ts";
import { brierSkillOf, type Calibration, calibrate } from "../calibration.ts";
import type { ReturnGrid } from "../return-grid.ts";
import { MIN_VERDICT_PERIODS } from "../verdict.ts";
import { fitQuadraticLogistic, logisticProbability, type QuadraticLogistic } from "./logistic.ts";

/** Largest gap between forecast and frequency in a tenth at which a probability is published. */
export const MAX_CALIBRATION_GAP = 0.03;

/** A stock of a date: its steadiness in [0, 100], and the deepest fall that followed. */
export interface FallOutcome {
  readonly steadiness: number;
  readonly fall: number;
}

/** The outcomes of one graded date. */
export interface DatedFalls {
  /** Index of the date's session in the grid. */
  readonly place: number;
  readonly outcomes: readonly FallOutcome[];
}

/** The fit that forecasts a year, from dates whose horizon had ended before that year. */
interface YearlyFit {
  readonly year: string;
  readonly coefficients: QuadraticLogistic;
  /** Number of dates in the fit. */
  readonly dates: number;
}

/** Measures of the chance of being among the worst fifth, forecast year by year. */
export interface WorstFifthChance extends Calibration {
  /** 95 % interval of the mean Brier skill over dates. */
  readonly skillInterval: ConfidenceInterval | null;
  /** Largest difference between mean forecast and frequency among the tenths. */
  readonly largestGap: number;
  readonly years: readonly YearlyFit[];
  /**
   * Coefficients from all dates, for forecasts after the backtest; `null` if they cannot be fitted.
   */
  readonly next: QuadraticLogistic | null;
  /**
   * Why the probability may not be published; `null` if it may: the skill interval lies above 0 and
   * the largest gap is at most `MAX_CALIBRATION_GAP`.
   */
  readonly withheld: "skill_not_shown" | "not_calibrated" | null;
}

/** U and whether the fall was among the worst fifth of the date, stock by stock. */
interface DatedEvents {
  readonly place: number;
  readonly risk: readonly number[];
  readonly isWorst: readonly (0 | 1)[];
}

/**
 * Forecasts, for the stocks of each year, the chance that their fall is among the worst fifth of
 * the date: logistic(c0 + c1 U + c2 U^2), where U is the normal score of risk, fitted each January
 * on the dates whose horizon had ended by then. Years with fewer than 30 independent periods before
 * them are not forecast.
 *
 * @returns `null` if no year can be forecast.
 */
export function gradeWorstFifthChance(
  dates: readonly DatedFalls[],
  { sessions }: ReturnGrid,
  overlap: HorizonOverlap,
  seed: number,
): WorstFifthChance | null {
  const events = dates.map(eventsOf);
  const labelAt = (place: number) => sessions[place]?.label ?? "";
  const byYear = Map.groupBy(events, ({ place }) => labelAt(place).slice(0, 4));
  const fits = [...byYear.keys()].flatMap((year): YearlyFit[] => {
    const ended = events.filter(({ place }) => labelAt(place + 1 + overlap.horizon) < year);
    if (ended.length / datesPerHorizon(overlap) < MIN_VERDICT_PERIODS) return [];
    const coefficients = fitOf(ended);
    return coefficients === undefined ? [] : [{ year, coefficients, dates: ended.length }];
  });
  const forecasts = fits.flatMap(({ year, coefficients }) =>
    (byYear.get(year) ?? []).map(({ risk, isWorst }) =>
      risk.map((u, index) => ({
        probability: logisticProbability(coefficients, u),
        outcome: isWorst[index] as 0 | 1,
      })),
    ),
  );
  const calibration = calibrate(forecasts.flat());
  if (calibration === undefined) return null;
  const skills = forecasts.map((ofDate) => brierSkillOf(ofDate, calibration.climatology));
  const skillInterval = bootstrapInterval(skills, datesPerHorizon(overlap), seed) ?? null;
  const largestGap = Math.max(
    ...calibration.bins.map(({ meanProbability, frequency }) =>
      Math.abs(meanProbability - frequency),
    ),
  );
  return {
    ...calibration,
    skillInterval,
    largestGap,
    years: fits,
    next: fitOf(events) ?? null,
    withheld: withheldReason(skillInterval, largestGap),
  };
}

function withheldReason(
  skillInterval: ConfidenceInterval | null,
  largestGap: number,
): WorstFifthChance["withheld"] {
  if (skillInterval === null || skillInterval.low <= 0) return "skill_not_shown";
  return largestGap > MAX_CALIBRATION_GAP ? "not_calibrated" : null;
}

function eventsOf({ place, outcomes }: DatedFalls): DatedEvents {
  const byFall = ranks(outcomes.map(({ fall }) => fall));
  return {
    place,
    risk: outcomes.map(({ steadiness }) => -normalQuantile(steadiness / 100)),
    isWorst: Array.from(byFall, (rank) => ((rank - 0.5) / outcomes.length < 0.2 ? 1 : 0)),
  };
}

const fitOf = (events: readonly DatedEvents[]): QuadraticLogistic | undefined =>
  fitQuadraticLogistic(
    events.flatMap(({ risk }) => risk),
    events.flatMap(({ isWorst }) => isWorst),
  );
