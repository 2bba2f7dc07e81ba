import type { Instrument } from "../../../market/instrument.ts";
import type { MarketView } from "../../../market/market-view.ts";
import { countKnown } from "../../../market/point-in-time.ts";
import type { Bar } from "../../../market/records.ts";
import { riskTableOf } from "../../../risk/measured-table.ts";
import { sigmaAt } from "../../../risk/outlook.ts";
import { watchedHorizon } from "../../../risk/range-events.ts";
import { RANGES, rangeOf } from "../../../risk/ranges.ts";
import { horizonSigma, sessionsToReport } from "../../../risk/report-days.ts";

/** Nominal coverage of the range that the pages show. */
export const SHOWN_RANGE = RANGES[1];

/** How the ranges of the shorter horizon turned out. */
export interface KeptRanges {
  /** Length of a range in sessions. */
  readonly horizon: number;
  /** Positions in the history at which a range ended, oldest first, and whether the close was
   *  within the range. */
  readonly outcomes: readonly { readonly place: number; readonly isKept: boolean }[];
}

/**
 * Whether the closes of a history were within the ranges that today's table gives from the records
 * that were known one horizon before each of them. The ranges do not overlap, so that each outcome
 * counts once, and they do not move when a session is added.
 *
 * @param closes When the sessions of the history closed, Unix milliseconds, oldest first.
 * @returns `undefined` where no range is published.
 */
export function keptRanges(
  { symbol, assetClass }: Instrument,
  closes: readonly number[],
  market: MarketView,
): KeptRanges | undefined {
  const table = watchedHorizon(riskTableOf(market.source), assetClass);
  const [first, last] = [closes[0], closes.at(-1)];
  if (table === undefined || first === undefined || last === undefined) return undefined;
  const { horizon, quantiles } = table;
  const records = market.records(symbol);
  const { bars } = records;
  const outcomes: KeptRanges["outcomes"][number][] = [];
  const start = Math.ceil(countKnown(bars, first - 1) / horizon) * horizon;
  for (let at = start; at + horizon < countKnown(bars, last); at += horizon) {
    const [from, ...ahead] = bars.slice(at, at + horizon + 1) as [Bar, ...Bar[]];
    const sigma = sigmaAt(bars, assetClass, from.availableAt);
    if (sigma === undefined) continue;
    const ofHorizon = horizonSigma(sigma, table, sessionsToReport(table, records, from));
    const range = rangeOf(quantiles, SHOWN_RANGE, ofHorizon);
    const logReturn = ahead.reduce((sum, bar) => sum + (bar.logReturn ?? 0), 0);
    const end = ahead.at(-1)?.availableAt ?? last;
    outcomes.push({
      place: closes.findIndex((close) => close >= end),
      isKept: logReturn >= range.low && logReturn <= range.high,
    });
  }
  return { horizon, outcomes };
}
