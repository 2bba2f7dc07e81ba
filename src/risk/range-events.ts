import type { AssetClass } from "../market/instrument.ts";
import { countKnown, newestKnown } from "../market/point-in-time.ts";
import type { Bar } from "../market/records.ts";
import { sigmaAt } from "./outlook.ts";
import { publishesRanges, RANGES, rangeOf } from "./ranges.ts";
import { type ForecastRecords, horizonSigma, sessionsToReport } from "./report-days.ts";
import type { HorizonTable, RiskTable } from "./table.ts";

/** Nominal coverage of the watched range, the widest that is published. */
export const WATCHED_RANGE = RANGES[2];

/** The side of the range on which a close lay. */
export const RANGE_REASONS = ["below", "above"] as const;
type RangeReason = (typeof RANGE_REASONS)[number];

/** A range of one instrument that is open, from the close at which it was forecast. */
export interface OpenRange {
  /** When that close became known, Unix milliseconds. */
  readonly openedAt: number;
  /** Price at that close. */
  readonly price: number;
  /** Log returns from that close, dividends included. */
  readonly low: number;
  readonly high: number;
}

/** A close left the range that was open. */
export interface RangeAlert {
  readonly kind: "range.alert";
  readonly reason: RangeReason;
  readonly range: OpenRange;
  readonly table: HorizonTable;
  /** The bar whose close left the range. */
  readonly bar: Bar;
  /** Log return from the close at which the range opened to that of the bar, dividends included. */
  readonly logReturn: number;
  /** Closes since the range opened, this one included. */
  readonly sessions: number;
}

/** A closed session of an instrument whose class has a range. */
export interface RangeSession {
  readonly records: ForecastRecords;
  readonly assetClass: AssetClass;
  /** Close of the session, Unix milliseconds. */
  readonly at: number;
  readonly table: HorizonTable;
}

/** The horizon whose range is watched: the shortest of a class; `undefined` where its ranges are not
 *  published. */
export function watchedHorizon(table: RiskTable, assetClass: AssetClass): HorizonTable | undefined {
  const [shortest] = table.classes[assetClass];
  return shortest && publishesRanges(shortest.evidence) ? shortest : undefined;
}

/** The range from the last close known at the end of a session; `undefined` without a forecast. */
function openRange({ records, assetClass, at, table }: RangeSession): OpenRange | undefined {
  const { bars } = records;
  const bar = newestKnown(bars, at);
  const sigma = sigmaAt(bars, assetClass, at);
  if (bar === undefined || sigma === undefined) return undefined;
  const ofHorizon = horizonSigma(sigma, table, sessionsToReport(table, records, bar));
  const range = rangeOf(table.quantiles, WATCHED_RANGE, ofHorizon);
  return { openedAt: bar.availableAt, price: bar.close, low: range.low, high: range.high };
}

/**
 * Finds the `range.alert` event of a closed session: a newly known close that left the open range.
 * A range ends with the first such close, or with the last of its horizon; the next one opens at
 * the last close known then. A session without a close, or with a doubted one, changes nothing.
 *
 * @param open After the session before, `undefined` for the first, which is never an event.
 * @returns The same range while it stays open.
 */
export function rangeAlert(
  open: OpenRange | undefined,
  session: RangeSession,
): { readonly open: OpenRange | undefined; readonly event?: RangeAlert } {
  if (open === undefined) return { open: openRange(session) };
  const { at, table } = session;
  const { bars } = session.records;
  const since = bars.slice(countKnown(bars, open.openedAt), countKnown(bars, at));
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
