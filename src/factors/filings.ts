import { countKnownRecords } from "../market/point-in-time.ts";
import type { Fundamental, FundamentalMetric } from "../market/records.ts";

/** Constants for reading filings. */
export const FILING_RULES = {
  /**
   * Maximum number of days from the end of a period until its figures are known. A row with a
   * longer lag is a prior-year comparative mis-tagged as new (observed: 397 to 400 days). This
   * maximum is one day more than the maximum filing lag of 180 days, because a filing is used from
   * the next session on.
   */
  maxLagDays: 181,
  /**
   * Minimum and maximum days between the first and the last period end of four consecutive
   * quarters.
   */
  minTrailingSpanDays: 240,
  maxTrailingSpanDays: 300,
} as const;

/** A value in USD or a number of shares, and the instant at which it became known. */
export interface KnownFigure {
  readonly value: number;
  /** When the figure became known, Unix milliseconds. */
  readonly availableAt: number;
}

/** Figures of which the value of the newest period is kept. */
const NEWEST_FIGURES = ["equity", "assets", "debt", "cash", "netIncome"] as const;
type NewestFigure = (typeof NEWEST_FIGURES)[number];

/**
 * Figures from the filings known at an instant. They change only when another filing becomes known.
 */
export interface FilingFigures {
  /** Sums over the four latest quarters, USD. */
  readonly trailing: Readonly<
    Partial<Record<"netIncome" | "freeCashFlow" | "ebitda", KnownFigure>>
  >;
  /** Values of the newest period of each figure, USD; flows are those of one quarter. */
  readonly newest: Readonly<Partial<Record<NewestFigure, KnownFigure>>>;
  /** The positive numbers of shares outstanding in the newest two periods, oldest first. */
  readonly shareCounts: readonly Fundamental[];
  /** When the newest filing became known, Unix milliseconds. */
  readonly newestAt?: number;
}

/** State before the first filing. */
export const NO_FILING_FIGURES: FilingFigures = { trailing: {}, newest: {}, shareCounts: [] };

/**
 * Reads the filings known so far.
 *
 * @param fundamentals Known figures, ascending by `availableAt`.
 * @param dayMs Length of a market day in milliseconds.
 */
export function readFilingFigures(
  fundamentals: readonly Fundamental[],
  dayMs: number,
): FilingFigures {
  const byMetric = Map.groupBy(fundamentals, ({ metric }) => metric);
  const of = (metric: FundamentalMetric) => periods(byMetric.get(metric) ?? [], dayMs);
  const newestAt = fundamentals.at(-1)?.availableAt;
  const trailing = (["netIncome", "freeCashFlow", "ebitda"] as const).flatMap((metric) => {
    const figure = trailingYear(of(metric), dayMs);
    return figure === undefined ? [] : [[metric, figure] as const];
  });
  const newest = NEWEST_FIGURES.flatMap((metric) => {
    const figure = of(metric).at(-1);
    return figure === undefined ? [] : [[metric, figure] as const];
  });
  return {
    trailing: Object.fromEntries(trailing),
    newest: Object.fromEntries(newest),
    shareCounts: of("shares")
      .filter(({ value }) => value > 0)
      .slice(-2),
    ...(newestAt !== undefined && { newestAt }),
  };
}

/**
 * The figures of one metric, one per period, by ascending period end. A later filing replaces the
 * figure of an earlier filing for the same period.
 */
function periods(figures: readonly Fundamental[], dayMs: number): Fundamental[] {
  const byPeriod = new Map<number, Fundamental>();
  for (const figure of figures) {
    const lagDays = (figure.availableAt - figure.periodEnd) / dayMs;
    if (lagDays < 1 || lagDays > FILING_RULES.maxLagDays) continue;
    byPeriod.set(figure.periodEnd, figure);
  }
  return [...byPeriod.values()].sort((a, b) => a.periodEnd - b.periodEnd);
}

/** Sum of the four latest quarters; `undefined` if these quarters are not consecutive. */
function trailingYear(quarters: readonly Fundamental[], dayMs: number): KnownFigure | undefined {
  const latest = quarters.slice(-4);
  const [first, , , last] = latest;
  if (first === undefined || last === undefined) return undefined;

  const spanDays = (last.periodEnd - first.periodEnd) / dayMs;
  const { minTrailingSpanDays, maxTrailingSpanDays } = FILING_RULES;
  if (spanDays < minTrailingSpanDays || spanDays > maxTrailingSpanDays) return undefined;
  const value = latest.reduce((sum, quarter) => sum + quarter.value, 0);
  return { value, availableAt: last.availableAt };
}

/** A split of an instrument's shares. */
export interface StockSplit {
  /** When the bar of the split's session became known, Unix milliseconds. */
  readonly availableAt: number;
  /** Split ratio: new shares per old share. */
  readonly split: number;
}

/**
 * Shares outstanding on the share basis of the newest bar: the positive count of the newest period,
 * multiplied by the ratio of every split that this count does not yet include.
 *
 * @param splits Known splits, oldest first.
 */
export function sharesOutstanding(
  shareCounts: readonly Fundamental[],
  splits: readonly StockSplit[],
): KnownFigure | undefined {
  const newest = shareCounts.at(-1);
  if (newest === undefined) return undefined;
  const basis = filingBasis(newest, shareCounts.at(-2), splits);
  const value = newest.value * splitsBetween(splits, basis, Number.POSITIVE_INFINITY);
  return { value, availableAt: newest.availableAt };
}

/**
 * The instant up to which a filed count already includes splits: the period end, or the filing if
 * the count was restated for a split between the two. A count is restated if its change from the
 * previous count is about the split ratio.
 */
function filingBasis(
  count: Fundamental,
  before: Fundamental | undefined,
  splits: readonly StockSplit[],
): number {
  const ratio = splitsBetween(splits, count.periodEnd, count.availableAt);
  if (ratio === 1 || before === undefined) return count.periodEnd;
  const expected = before.value * splitsBetween(splits, before.periodEnd, count.periodEnd);
  const jump = Math.log(count.value / expected);
  const isRestated = Math.abs(jump - Math.log(ratio)) < Math.abs(jump);
  return isRestated ? count.availableAt : count.periodEnd;
}

/** Product of the split ratios in (after, upTo], Unix milliseconds. */
function splitsBetween(splits: readonly StockSplit[], after: number, upTo: number): number {
  let ratio = 1;
  for (let index = countKnownRecords(splits, after); index < splits.length; index++) {
    const { availableAt, split } = splits[index] as StockSplit;
    if (availableAt > upTo) break;
    ratio *= split;
  }
  return ratio;
}
