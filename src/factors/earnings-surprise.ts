import type { Fundamental } from "../market/records.ts";
import { sampleSd } from "../statistics/statistics.ts";
import { FILING_RULES } from "./filings.ts";

/** Constants of the earnings surprise. */
export const EARNINGS_SURPRISE_RULES = {
  /**
   * Days between the same fiscal quarters of consecutive years, and the tolerated deviation in
   * days.
   */
  yearDays: 365,
  matchDays: 20,
  /**
   * Maximum and minimum number of seasonal differences in the standard deviation, including the
   * newest.
   */
  differences: 8,
  minDifferences: 6,
  /** The surprise is used for this number of sessions after the filing. */
  sessions: 63,
} as const;

/** Standardized unexpected earnings (SUE) of the newest quarter. */
export interface EarningsSurprise {
  /**
   * Newest seasonal difference of net income, divided by the standard deviation of the last eight
   * differences.
   */
  readonly value: number;
  /** When the quarter was first filed, Unix milliseconds. */
  readonly availableAt: number;
}

/** Net income of a quarter. */
interface Quarter {
  readonly periodEnd: number;
  /** Net income in USD, as last restated. */
  readonly value: number;
  /** When the quarter was first filed, Unix milliseconds. */
  readonly availableAt: number;
}

/**
 * Standardized unexpected earnings (Foster, Olsen & Shevlin, 1984): the difference between the net
 * income of the newest quarter and of the same quarter a year earlier, divided by the standard
 * deviation of the last eight such differences.
 *
 * @param fundamentals Known figures, ascending by `availableAt`.
 * @param dayMs Length of a market day in milliseconds.
 * @returns `undefined` if the quarter a year earlier is unknown, if there are too few differences,
 * or if they do not vary.
 */
export function measureEarningsSurprise(
  fundamentals: readonly Fundamental[],
  dayMs: number,
): EarningsSurprise | undefined {
  const quarters = quartersOf(fundamentals, dayMs);
  const newest = quarters.at(-1);
  const differences = quarters
    .slice(-EARNINGS_SURPRISE_RULES.differences)
    .map((quarter) => seasonalDifference(quarter, quarters, dayMs));
  const last = differences.at(-1);
  const known = differences.filter((one) => one !== undefined);
  if (newest === undefined || last === undefined) return undefined;
  if (known.length < EARNINGS_SURPRISE_RULES.minDifferences) return undefined;
  const value = last / sampleSd(known);
  return Number.isFinite(value) ? { value, availableAt: newest.availableAt } : undefined;
}

/**
 * Quarters whose net income was filed within `FILING_RULES.maxLagDays` of the period end, oldest
 * first.
 */
function quartersOf(fundamentals: readonly Fundamental[], dayMs: number): readonly Quarter[] {
  const byPeriod = new Map<number, Quarter>();
  for (const { metric, periodEnd, value, availableAt } of fundamentals) {
    const lagDays = (availableAt - periodEnd) / dayMs;
    if (metric !== "netIncome" || lagDays < 1 || lagDays > FILING_RULES.maxLagDays) continue;
    const first = byPeriod.get(periodEnd)?.availableAt ?? availableAt;
    byPeriod.set(periodEnd, { periodEnd, value, availableAt: first });
  }
  return [...byPeriod.values()].sort((a, b) => a.periodEnd - b.periodEnd);
}

function seasonalDifference(
  { periodEnd, value }: Quarter,
  quarters: readonly Quarter[],
  dayMs: number,
): number | undefined {
  const { yearDays, matchDays } = EARNINGS_SURPRISE_RULES;
  const before = quarters.find(
    (one) => Math.abs((periodEnd - one.periodEnd) / dayMs - yearDays) <= matchDays,
  );
  return before && value - before.value;
}
