import type { AssetClass } from "../market/instrument.ts";
import { countKnown } from "../market/point-in-time.ts";
import type { Bar, RecordList } from "../market/records.ts";
import { forecastSigma, MODEL_OF_CLASS, RISK_RULES, sessionVariances } from "./forecast.ts";
import {
  chanceOfFall,
  publishesFall,
  publishesRanges,
  RANGES,
  type RangeProbability,
  rangeOf,
} from "./ranges.ts";
import { type ForecastRecords, horizonSigma, sessionsToReport } from "./report-days.ts";
import type { HorizonTable, RiskTable } from "./table.ts";

/** Risk level of an instrument: the lowest fifth of what it is compared with, the middle, the
 *  highest fifth. */
export const RISK_LEVELS = ["calm", "usual", "wild"] as const;
export type RiskLevel = (typeof RISK_LEVELS)[number];

/** Constants of risk levels. */
export const LEVEL_RULES = {
  /** Shares of the comparison below which risk is calm, and above which it is wild. */
  calmBelow: 0.2,
  wildAbove: 0.8,
  /** Closes of the instrument's own past, the newest included, and the minimum. */
  ownCloses: 252,
  minOwnCloses: 126,
  /** Minimum peers, and the maximum that are read; of more, evenly spaced ones. */
  minPeers: 10,
  maxPeers: 200,
} as const;

/** A range around the last close. */
export interface PriceRange {
  readonly probability: RangeProbability;
  /** Log returns from the last close. */
  readonly low: number;
  readonly high: number;
}

/** Forecast over one horizon. */
export interface HorizonOutlook {
  readonly table: HorizonTable;
  /** Standard deviation of the log return over the horizon. */
  readonly sigma: number;
  /** From `sessionsToReport`. */
  readonly reportIn: number | null;
  /** `null` where the ranges of the class did not hold. */
  readonly ranges: readonly PriceRange[] | null;
  /** Chance of a fall beyond `table.fallPercent`; `null` where such chances had no skill. */
  readonly fall: number | null;
}

/** Risk forecast of one instrument from its last known close. */
export interface RiskOutlook {
  /** The last known bar. */
  readonly bar: Bar;
  /** Standard deviation of a session's log return. */
  readonly sigma: number;
  /** Against its own past year; `null` if its history is too short. */
  readonly level: RiskLevel | null;
  readonly horizons: readonly HorizonOutlook[];
}

/** The bars required for the forecasts at the last `closes` closes. */
function barsBehind(bars: RecordList<Bar>, at: number, closes: number): readonly Bar[] {
  const known = countKnown(bars, at);
  return bars.slice(Math.max(0, known - RISK_RULES.windowSessions - closes + 1), known);
}

/**
 * Only the sigma of the outlook at an instant (Unix milliseconds): the standard deviation of a
 * session's log return.
 *
 * @returns `undefined` with under 252 sessions, and where no price moved.
 */
export function sigmaAt(
  bars: RecordList<Bar>,
  assetClass: AssetClass,
  at: number,
): number | undefined {
  const behind = (closes: number) =>
    forecastSigma(MODEL_OF_CLASS[assetClass], sessionVariances(barsBehind(bars, at, closes)));
  // A few bars too many are enough, unless many of them had extreme prices, which are skipped.
  return behind(2) ?? behind(LEVEL_RULES.ownCloses);
}

/**
 * The outlook at the last close known by an instant (Unix milliseconds).
 *
 * @returns `undefined` with under 252 sessions, and where no price moved.
 */
export function riskOutlook(
  records: ForecastRecords,
  assetClass: AssetClass,
  at: number,
  table: RiskTable,
): RiskOutlook | undefined {
  const behind = barsBehind(records.bars, at, LEVEL_RULES.ownCloses);
  const bar = behind.at(-1);
  const model = MODEL_OF_CLASS[assetClass];
  const variances = sessionVariances(behind);
  const sigma = forecastSigma(model, variances);
  if (bar === undefined || sigma === undefined) return undefined;
  const own: number[] = [];
  for (let count = RISK_RULES.windowSessions; count <= variances.bars.length; count++) {
    own.push(forecastSigma(model, variances, count) ?? 0);
  }
  return {
    bar,
    sigma,
    level: riskLevel(sigma, own, LEVEL_RULES.minOwnCloses),
    horizons: table.classes[assetClass].map((one) =>
      horizonOutlook(one, sigma, sessionsToReport(one, records, bar)),
    ),
  };
}

function horizonOutlook(
  table: HorizonTable,
  sessionSigma: number,
  reportIn: number | null,
): HorizonOutlook {
  const { quantiles, fallPercent, evidence } = table;
  const sigma = horizonSigma(sessionSigma, table, reportIn);
  return {
    table,
    sigma,
    reportIn,
    ranges: publishesRanges(evidence)
      ? RANGES.map((probability) => ({ probability, ...rangeOf(quantiles, probability, sigma) }))
      : null,
    fall: publishesFall(evidence) ? chanceOfFall(quantiles, fallPercent, sigma) : null,
  };
}

/** A sample of a class: all of its members, or 200 evenly spaced ones. */
export function choosePeers<T>(members: readonly T[]): readonly T[] {
  const { maxPeers } = LEVEL_RULES;
  if (members.length <= maxPeers) return members;
  return Array.from(
    { length: maxPeers },
    (_, index) => members[Math.floor((index * members.length) / maxPeers)] as T,
  );
}

/**
 * The forecasts of the peers that still trade, at a close.
 *
 * @param lists Bars of instruments of one class.
 * @param newestSince Unix milliseconds: instruments without a bar since then are excluded.
 */
export const peerSigmas = (
  lists: readonly RecordList<Bar>[],
  assetClass: AssetClass,
  { at, newestSince }: { readonly at: number; readonly newestSince: number },
): readonly number[] =>
  lists.flatMap((list) => {
    const bars = barsBehind(list, at, 2);
    if ((bars.at(-1)?.availableAt ?? Number.NEGATIVE_INFINITY) < newestSince) return [];
    return forecastSigma(MODEL_OF_CLASS[assetClass], sessionVariances(bars)) ?? [];
  });

/**
 * The level of a forecast among others by its mid-rank.
 *
 * @returns `null` with fewer others than `least`.
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
  if (rank < LEVEL_RULES.calmBelow) return "calm";
  return rank > LEVEL_RULES.wildAbove ? "wild" : "usual";
}
