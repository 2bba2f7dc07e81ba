import type { Instrument } from "../../../market/instrument.ts";
import type { MarketView } from "../../../market/market-view.ts";
import { countKnownRecords } from "../../../market/point-in-time.ts";
import type { Bar } from "../../../market/records.ts";
import { riskTableOf } from "../../../risk/measured-table.ts";
import { forecastSigmaAt } from "../../../risk/outlook.ts";
import { watchedHorizon } from "../../../risk/range-events.ts";
import { logReturnRange, RANGE_PROBABILITIES } from "../../../risk/ranges.ts";
import { horizonSigma, sessionsToReport } from "../../../risk/report-days.ts";

/** Nominal coverage of the range that the pages show. */
export const SHOWN_RANGE_PROBABILITY = RANGE_PROBABILITIES[1];

/** Outcomes of the forecast ranges over the shortest horizon of the asset class. */
export interface RangeOutcomes {
  /** Horizon of each forecast range, in sessions. */
  readonly horizon: number;
  /**
   * For each range that has ended, oldest first: the column of the history at which it ended, and
   * whether the close was within the range.
   */
  readonly outcomes: readonly { readonly place: number; readonly isKept: boolean }[];
}

/**
 * Determines whether the closing prices of a history were within their forecast ranges. Each range
 * is computed with today's risk table from the records known one horizon before its end. The ranges
 * do not overlap, so that each outcome counts once, and they stay in place when a session is added.
 *
 * @param closes Times at which the sessions of the history closed, in milliseconds since the epoch,
 * oldest first.
 * @returns `undefined` if no range is published.
 */
export function computeRangeOutcomes(
  { symbol, assetClass }: Instrument,
  closes: readonly number[],
  market: MarketView,
): RangeOutcomes | undefined {
  const table = watchedHorizon(riskTableOf(market.source), assetClass);
  const [first, last] = [closes[0], closes.at(-1)];
  if (table === undefined || first === undefined || last === undefined) return undefined;
  const { horizon, quantiles } = table;
  const records = market.records(symbol);
  const { bars } = records;
  const outcomes: RangeOutcomes["outcomes"][number][] = [];
  const start = Math.ceil(countKnownRecords(bars, first - 1) / horizon) * horizon;
  for (let at = start; at + horizon < countKnownRecords(bars, last); at += horizon) {
    const [from, ...ahead] = bars.slice(at, at + horizon + 1) as [Bar, ...Bar[]];
    const sigma = forecastSigmaAt(bars, assetClass, from.availableAt);
    if (sigma === undefined) continue;
    const ofHorizon = horizonSigma(sigma, table, sessionsToReport(table, records, from));
    const range = logReturnRange(quantiles, SHOWN_RANGE_PROBABILITY, ofHorizon);
    const logReturn = ahead.reduce((sum, bar) => sum + (bar.logReturn ?? 0), 0);
    const end = ahead.at(-1)?.availableAt ?? last;
    outcomes.push({
      place: closes.findIndex((close) => close >= end),
      isKept: logReturn >= range.low && logReturn <= range.high,
    });
  }
  return { horizon, outcomes };
}
