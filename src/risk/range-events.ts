import type { AssetClass } from "../market/instrument.ts";
import { countKnownRecords, newestKnownRecord } from "../market/point-in-time.ts";
import type { Bar } from "../market/records.ts";
import { forecastSigmaAt } from "./outlook.ts";
import { arePriceRangesPublished, logReturnRange, RANGE_PROBABILITIES } from "./ranges.ts";
import { type ForecastRecords, horizonSigma, sessionsToReport } from "./report-days.ts";
import type { HorizonRiskTable, RiskTable } from "./table.ts";

/** Nominal coverage of the range that alerts watch, the widest published range. */
export const ALERT_RANGE_PROBABILITY = RANGE_PROBABILITIES[2];

/** The side of the range on which a close lies. */
export const RANGE_ALERT_REASONS = ["below", "above"] as const;

/** A watched range of one instrument, which opens at the close at which it is forecast. */
export interface WatchedRange {
  /** When the close at which the range opened became known, Unix milliseconds. */
  readonly openedAt: number;
  /** Closing price at which the range opened. */
  readonly price: number;
  /** Bounds as log returns from `price`, including dividends. */
  readonly low: number;
  readonly high: number;
}

/** The event that a close left the open range. */
export interface RangeAlert {
  readonly kind: "range.alert";
  readonly reason: (typeof RANGE_ALERT_REASONS)[number];
  readonly range: WatchedRange;
  readonly table: HorizonRiskTable;
  /** The bar whose close left the range. */
  readonly bar: Bar;
  /**
   * Log return from the close at which the range opened to the close of `bar`, including dividends.
   */
  readonly logReturn: number;
  /** Number of closes since the range opened, including the close of `bar`. */
  readonly sessions: number;
}

/** A closed session of an instrument whose class has a published range. */
export interface RangeSession {
  readonly records: ForecastRecords;
  readonly assetClass: AssetClass;
  /** Close of the session, Unix milliseconds. */
  readonly at: number;
  readonly table: HorizonRiskTable;
}

/**
 * The shortest horizon of a class, over which ranges are watched; `undefined` if its ranges are not
 * published.
 */
export function watchedHorizon(
  table: RiskTable,
  assetClass: AssetClass,
): HorizonRiskTable | undefined {
  const [shortest] = table.classes[assetClass];
  return shortest && arePriceRangesPublished(shortest.evidence) ? shortest : undefined;
}

/**
 * Opens a range at the last close known at the end of a session; `undefined` without a forecast.
 */
function openRange({ records, assetClass, at, table }: RangeSession): WatchedRange | undefined {
  const { bars } = records;
  const bar = newestKnownRecord(bars, at);
  const sigma = forecastSigmaAt(bars, assetClass, at);
  if (bar === undefined || sigma === undefined) return undefined;
  const ofHorizon = horizonSigma(sigma, table, sessionsToReport(table, records, bar));
  const range = logReturnRange(table.quantiles, ALERT_RANGE_PROBABILITY, ofHorizon);
  return { openedAt: bar.availableAt, price: bar.close, low: range.low, high: range.high };
}

/**
 * Finds the `range.alert` event of a closed session: a newly known close that left the open range.
 * A range ends at the first such close, or at the last close of its horizon. The next range then
 * opens at the last known close. A session without a close, or with a suspicious close, changes
 * nothing.
 *
 * @param open The open range after the previous session; `undefined` for the first session, which
 * never causes an event.
 * @returns The open range, which is the same object while it stays open.
 */
export function detectRangeAlert(
  open: WatchedRange | undefined,
  session: RangeSession,
): { readonly open: WatchedRange | undefined; readonly event?: RangeAlert } {
  if (open === undefined) return { open: openRange(session) };
  const { at, table } = session;
  const { bars } = session.records;
  const since = bars.slice(countKnownRecords(bars, open.openedAt), countKnownRecords(bars, at));
  let logReturn = 0;
  for (const [index, bar] of since.slice(0, table.horizon).entries()) {
    logReturn += bar.logReturn ?? 0;
    if (logReturn >= open.low && logReturn <= open.high) continue;
    return {
      open: openRange(session),
      event: {
        kind: "range.alert",
        reason: logReturn < open.low ? "below" : "above",
        range: open,
        table,
        bar,
        logReturn,
        sessions: index + 1,
      },
    };
  }
  return { open: since.length < table.horizon ? open : openRange(session) };
}
