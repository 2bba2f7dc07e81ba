import { countKnown } from "../market/point-in-time.ts";
import type { Fundamental, FundamentalMetric } from "../market/records.ts";

/** Constants for reading filings. */
export const FILING_RULES = {
  /**
   * Maximum days from the end of a period until its figures are known. Beyond it, a row is a
   * comparative of an older period mis-tagged as new (observed: 397 to 400 days). One day more than
   * the maximum filing lag of 180, because a filing counts from the next session.
   */
  maxLagDays: 181,
  /** Days between the first and the last period end of four consecutive quarters. */
  minTrailingSpanDays: 240,
  maxTrailingSpanDays: 300,
} as const;

/** A figure in USD, or a count, and the instant from which it was known. */
export interface Figure {
  readonly value: number;
  /** Unix milliseconds. */
  readonly availableAt: number;
}

/** Figures of the filings known at an instant; they change only when a filing arrives. */
export interface Filings {
  /** Sums over the four latest quarters, USD. */
  readonly trailing: Readonly<Partial<Record<"netIncome" | "freeCashFlow" | "ebitda", Figure>>>;
  /** Newest by period end, USD. */
  readonly newest: Readonly<Partial<Record<"equity" | "debt" | "cash", Figure>>>;
  /** The newest positive share counts by period end, at most two, oldest first. */
  readonly shareCounts: readonly Fundamental[];
  /** When the newest filing became known, Unix milliseconds. */
  readonly newestAt?: number;
}

/** The filings before the first one. */
export const NO_FILINGS: Filings = { trailing: {}, newest: {}, shareCounts: [] };

/**
 * Reads the filings known so far.
 *
 * @param fundamentals Ascending by `availableAt`.
 * @param dayMs Length of a market day in milliseconds.
 */
export function readFilings(fundamentals: readonly Fundamental[], dayMs: number): Filings {
  const byMetric = Map.groupBy(fundamentals, ({ metric }) => metric);
  const of = (metric: FundamentalMetric) => periods(byMetric.get(metric) ?? [], dayMs);
  const newestAt = fundamentals.at(-1)?.availableAt;
  const trailing = (["netIncome", "freeCashFlow", "ebitda"] as const).flatMap((metric) => {
    const figure = trailingYear(of(metric), dayMs);
    return figure === undefined ? [] : [[metric, figure] as const];
  });
  const newest = (["equity", "debt", "cash"] as const).flatMap((metric) => {
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

/** The newest filing of each period of one metric, periods ascending; later filings restate earlier ones. */
function periods(figures: readonly Fundamental[], dayMs: number): Fundamental[] {
  const byPeriod = new Map<number, Fundamental>();
  for (const figure of figures) {
    const lagDays = (figure.availableAt - figure.periodEnd) / dayMs;
    if (lagDays < 1 || lagDays > FILING_RULES.maxLagDays) continue;
    byPeriod.set(figure.periodEnd, figure);
  }
  return [...byPeriod.values()].sort((a, b) => a.periodEnd - b.periodEnd);
}

/** Sum of the four latest quarters, `undefined` if they do not span about a year. */
function trailingYear(quarters: readonly Fundamental[], dayMs: number): Figure | undefined {
  const latest = quarters.slice(-4);
  const [first, , , last] = latest;
  if (first === undefined || last === undefined) return undefined;

  const spanDays = (last.periodEnd - first.periodEnd) / dayMs;
  const { minTrailingSpanDays, maxTrailingSpanDays } = FILING_RULES;
  if (spanDays < minTrailingSpanDays || spanDays > maxTrailingSpanDays) return undefined;
  const value = latest.reduce((sum, quarter) => sum + quarter.value, 0);
  return { value, availableAt: last.availableAt };
}

/** A session on which an instrument's shares were split. */
export interface Split {
  /** When the bar of the session became known, Unix milliseconds. */
  readonly availableAt: number;
  /** New shares per old share. */
  readonly split: number;
}

/**
 * Shares outstanding on the basis of the newest bar: the newest positive count by period end,
 * times every split since the basis of its filing.
 *
 * @param splits Known splits, oldest first.
 */
export function sharesOutstanding(
  shareCounts: readonly Fundamental[],
  splits: readonly Split[],
): Figure | undefined {
  const newest = shareCounts.at(-1);
  if (newest === undefined) return undefined;
  const basis = filingBasis(newest, shareCounts.at(-2), splits);
  const value = newest.value * splitsBetween(splits, basis, Number.POSITIVE_INFINITY);
  return { value, availableAt: newest.availableAt };
}

/**
 * The instant of the share basis of a filed count: the period's end, or the filing itself if it already
 * restates a split in between, that is if the count changed from the previous one by about the split
 * ratio.
 */
function filingBasis(
  count: Fundamental,
  before: Fundamental | undefined,
  splits: readonly Split[],
): number {
  const ratio = splitsBetween(splits, count.periodEnd, count.availableAt);
  if (ratio === 1 || before === undefined) return count.periodEnd;
  const expected = before.value * splitsBetween(splits, before.periodEnd, count.periodEnd);
  const jump = Math.log(count.value / expected);
  const isRestated = Math.abs(jump - Math.log(ratio)) < Math.abs(jump);
  return isRestated ? count.availableAt : count.periodEnd;
}

/** Product of the split ratios in (after, upTo]. */
function splitsBetween(splits: readonly Split[], after: number, upTo: number): number {
  let ratio = 1;
  for (let index = countKnown(splits, after); index < splits.length; index++) {
    const { availableAt, split } = splits[index] as Split;
    if (availableAt > upTo) break;
    ratio *= split;
  }
  return ratio;
}
