import type { AssetClass } from "../market/instrument.ts";
import { countKnownRecords } from "../market/point-in-time.ts";
import type { Bar, RecordList } from "../market/records.ts";
import {
  computeSessionVariances,
  forecastSigma,
  RISK_MODEL_BY_CLASS,
  RISK_RULES,
} from "./forecast.ts";
import {
  arePriceRangesPublished,
  chanceOfFall,
  isFallProbabilityPublished,
  logReturnRange,
  RANGE_PROBABILITIES,
  type RangeProbability,
} from "./ranges.ts";
import { type ForecastRecords, horizonSigma, sessionsToReport } from "./report-days.ts";
import type { HorizonRiskTable, RiskTable } from "./table.ts";

/**
 * Risk level of an instrument by rank in a comparison group: `calm` is the lowest fifth, `wild` the
 * highest fifth.
 */
export const RISK_LEVELS = ["calm", "usual", "wild"] as const;
export type RiskLevel = (typeof RISK_LEVELS)[number];

/** Constants of risk levels. */
export const RISK_LEVEL_RULES = {
  /** Rank, as a fraction of the group, below which risk is calm, and above which it is wild. */
  calmBelow: 0.2,
  wildAbove: 0.8,
  /**
   * Number of past closes of the instrument in the comparison, including the newest, and the
   * minimum.
   */
  ownCloses: 252,
  minOwnCloses: 126,
  /** Minimum number of peers, and the maximum that is read; a larger group is sampled evenly. */
  minPeers: 10,
  maxPeers: 200,
} as const;

/** A range of log returns from the last close, with its nominal probability. */
export interface PriceRange {
  readonly probability: RangeProbability;
  /** Bounds as log returns from the last close. */
  readonly low: number;
  readonly high: number;
}

/** Risk forecast over one horizon. */
export interface HorizonOutlook {
  readonly table: HorizonRiskTable;
  /** Forecast standard deviation of the log return over the horizon. */
  readonly sigma: number;
  /** Number of sessions to the expected quarterly report, from `sessionsToReport`. */
  readonly reportIn: number | null;
  /**
   * Ranges by probability; `null` if the measured coverage of the class's ranges was not close
   * enough to the nominal coverage.
   */
  readonly ranges: readonly PriceRange[] | null;
  /**
   * Probability of a fall of more than `table.fallPercent`; `null` if such probabilities had no
   * skill.
   */
  readonly fall: number | null;
}

/** Risk forecast of one instrument from its last known close. */
export interface RiskOutlook {
  /** The last known bar. */
  readonly bar: Bar;
  /** Forecast standard deviation of a session's log return. */
  readonly sigma: number;
  /** Risk level against the instrument's own past year; `null` if its history is too short. */
  readonly level: RiskLevel | null;
  readonly horizons: readonly HorizonOutlook[];
}

/**
 * The bars that are needed for a forecast at each of the last `closes` bars known at `at` (Unix
 * milliseconds).
 */
function barsBehind(bars: RecordList<Bar>, at: number, closes: number): readonly Bar[] {
  const known = countKnownRecords(bars, at);
  return bars.slice(Math.max(0, known - RISK_RULES.windowSessions - closes + 1), known);
}

/**
 * The sigma of `riskOutlook` alone: the forecast standard deviation of a session's log return at an
 * instant (Unix milliseconds).
 *
 * @returns `undefined` with fewer than 252 sessions, or if the price did not move.
 */
export function forecastSigmaAt(
  bars: RecordList<Bar>,
  assetClass: AssetClass,
  at: number,
): number | undefined {
  const behind = (closes: number) =>
    forecastSigma(
      RISK_MODEL_BY_CLASS[assetClass],
      computeSessionVariances(barsBehind(bars, at, closes)),
    );
  // A few extra bars suffice, unless many bars have extreme prices and are skipped.
  return behind(2) ?? behind(RISK_LEVEL_RULES.ownCloses);
}

/**
 * The risk outlook at the last close known at an instant (Unix milliseconds).
 *
 * @returns `undefined` with fewer than 252 sessions, or if the price did not move.
 */
export function riskOutlook(
  records: ForecastRecords,
  assetClass: AssetClass,
  at: number,
  table: RiskTable,
): RiskOutlook | undefined {
  const behind = barsBehind(records.bars, at, RISK_LEVEL_RULES.ownCloses);
  const bar = behind.at(-1);
  const model = RISK_MODEL_BY_CLASS[assetClass];
  const variances = computeSessionVariances(behind);
  const sigma = forecastSigma(model, variances);
  if (bar === undefined || sigma === undefined) return undefined;
  const own: number[] = [];
  for (let count = RISK_RULES.windowSessions; count <= variances.bars.length; count++) {
    own.push(forecastSigma(model, variances, count) ?? 0);
  }
  return {
    bar,
    sigma,
    level: riskLevel(sigma, own, RISK_LEVEL_RULES.minOwnCloses),
    horizons: table.classes[assetClass].map((one) =>
      horizonOutlook(one, sigma, sessionsToReport(one, records, bar)),
    ),
  };
}

function horizonOutlook(
  table: HorizonRiskTable,
  sessionSigma: number,
  reportIn: number | null,
): HorizonOutlook {
  const { quantiles, fallPercent, evidence } = table;
  const sigma = horizonSigma(sessionSigma, table, reportIn);
  return {
    table,
    sigma,
    reportIn,
    ranges: arePriceRangesPublished(evidence)
      ? RANGE_PROBABILITIES.map((probability) => ({
          probability,
          ...logReturnRange(quantiles, probability, sigma),
        }))
      : null,
    fall: isFallProbabilityPublished(evidence) ? chanceOfFall(quantiles, fallPercent, sigma) : null,
  };
}

/** A sample of the instruments of an asset class: all of them, or 200 that are evenly spaced. */
export function samplePeers<T>(members: readonly T[]): readonly T[] {
  const { maxPeers } = RISK_LEVEL_RULES;
  if (members.length <= maxPeers) return members;
  return Array.from(
    { length: maxPeers },
    (_, index) => members[Math.floor((index * members.length) / maxPeers)] as T,
  );
}

/**
 * The volatility forecasts, at one close, of the peers that still trade.
 *
 * @param lists Bars of instruments of one class.
 * @param newestSince Unix milliseconds; instruments without a bar since then are excluded.
 */
export const peerSigmas = (
  lists: readonly RecordList<Bar>[],
  assetClass: AssetClass,
  { at, newestSince }: { readonly at: number; readonly newestSince: number },
): readonly number[] =>
  lists.flatMap((list) => {
    const bars = barsBehind(list, at, 2);
    if ((bars.at(-1)?.availableAt ?? Number.NEGATIVE_INFINITY) < newestSince) return [];
    return forecastSigma(RISK_MODEL_BY_CLASS[assetClass], computeSessionVariances(bars)) ?? [];
  });

/**
 * The risk level of a forecast, by its mid-rank among `others`.
 *
 * @returns `null` if there are fewer than `least` others.
 */
export function riskLevel(
  sigma: number,
  others: readonly number[],
  least: number,
): RiskLevel | null {
  if (others.length < least) return null;
  let below = 0;
  for (const other of others) {
    if (other < sigma) below += 1;
    else if (other === sigma) below += 0.5;
  }
  const rank = below / others.length;
  if (rank < RISK_LEVEL_RULES.calmBelow) return "calm";
  return rank > RISK_LEVEL_RULES.wildAbove ? "wild" : "usual";
}
