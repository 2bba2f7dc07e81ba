import { countKnown } from "../market/point-in-time.ts";
import type { Bar, Fundamental, FundamentalMetric } from "../market/records.ts";

/**
 * Days from the end of a period until its figures may be used. Above this, a row is a comparative
 * of an older period tagged as new (seen: 397 to 400 days); one day more than a filing lag of 180,
 * because a filing counts from the next session.
 */
const MAX_LAG_DAYS = 181;
/** Days between the first and the last period end of four consecutive quarters. */
const TRAILING_SPAN_DAYS = { min: 240, max: 300 } as const;

/** A figure in USD, or a count, and the instant from which it was known. */
export interface Figure {
  readonly value: number;
  /** Unix milliseconds. */
  readonly availableAt: number;
}

/** What the filings known at some instant say; it changes only when a filing arrives. */
export interface Filings {
  /** Net income of the four latest quarters, USD. */
  readonly trailingEarnings?: Figure;
  /** Newest book equity by period end, USD. */
  readonly equity?: Figure;
  /** The newest positive share counts by period end, at most two, older first. */
  readonly shareCounts: readonly Fundamental[];
  /** When the newest filing became known, Unix milliseconds. */
  readonly newestAt?: number;
}

/**
 * Reads the filings known so far.
 *
 * @param fundamentals Ascending by `availableAt`.
 * @param dayMs Length of a market day in milliseconds.
 */
export function readFilings(fundamentals: readonly Fundamental[], dayMs: number): Filings {
  const trailingEarnings = trailingYear(periods(fundamentals, "netIncome", dayMs), dayMs);
  const equity = periods(fundamentals, "equity", dayMs).at(-1);
  const counts = periods(fundamentals, "shares", dayMs).filter(({ value }) => value > 0);
  const newestAt = fundamentals.at(-1)?.availableAt;
  return {
    ...(trailingEarnings && { trailingEarnings }),
    ...(equity && { equity }),
    shareCounts: counts.slice(-2),
    ...(newestAt !== undefined && { newestAt }),
  };
}

/** The newest filing of each period, periods ascending; later filings restate earlier ones. */
function periods(
  fundamentals: readonly Fundamental[],
  metric: FundamentalMetric,
  dayMs: number,
): Fundamental[] {
  const byPeriod = new Map<number, Fundamental>();
  for (const figure of fundamentals) {
    const lagDays = (figure.availableAt - figure.periodEnd) / dayMs;
    if (figure.metric !== metric || lagDays < 1 || lagDays > MAX_LAG_DAYS) continue;
    byPeriod.set(figure.periodEnd, figure);
  }
  return [...byPeriod.values()].sort((a, b) => a.periodEnd - b.periodEnd);
}

/** Sum of the four latest quarters, `undefined` when they do not span about a year. */
function trailingYear(quarters: readonly Fundamental[], dayMs: number): Figure | undefined {
  const latest = quarters.slice(-4);
  const [first, , , last] = latest;
  if (first === undefined || last === undefined) return undefined;

  const spanDays = (last.periodEnd - first.periodEnd) / dayMs;
  if (spanDays < TRAILING_SPAN_DAYS.min || spanDays > TRAILING_SPAN_DAYS.max) return undefined;
  const value = latest.reduce((sum, quarter) => sum + quarter.value, 0);
  return { value, availableAt: last.availableAt };
}

/**
 * Shares outstanding on the basis of the newest bar: the newest positive count by period end,
 * times every split since the basis of its filing.
 *
 * @param bars Known bars, oldest first.
 */
export function sharesOutstanding(
  shareCounts: readonly Fundamental[],
  bars: readonly Bar[],
): Figure | undefined {
  const newest = shareCounts.at(-1);
  if (newest === undefined) return undefined;
  const basis = filingBasis(newest, shareCounts.at(-2), bars);
  const value = newest.value * splitsBetween(bars, basis, Number.POSITIVE_INFINITY);
  return { value, availableAt: newest.availableAt };
}

/**
 * The instant whose share basis a filed count has: the period's end, or the filing itself when it
 * already restates a split in between. It does when the count, against the one before, jumps by
 * about the split's ratio rather than by about nothing.
 */
function filingBasis(
  count: Fundamental,
  before: Fundamental | undefined,
  bars: readonly Bar[],
): number {
  const ratio = splitsBetween(bars, count.periodEnd, count.availableAt);
  if (ratio === 1 || before === undefined) return count.periodEnd;
  const expected = before.value * splitsBetween(bars, before.periodEnd, count.periodEnd);
  const jump = Math.log(count.value / expected);
  const isRestated = Math.abs(jump - Math.log(ratio)) < Math.abs(jump);
  return isRestated ? count.availableAt : count.periodEnd;
}

/** Product of the split ratios of the bars after one instant and up to another. */
function splitsBetween(bars: readonly Bar[], after: number, upTo: number): number {
  let ratio = 1;
  for (let index = countKnown(bars, after); index < bars.length; index++) {
    const bar = bars[index] as Bar;
    if (bar.availableAt > upTo) break;
    ratio *= bar.split;
  }
  return ratio;
}
