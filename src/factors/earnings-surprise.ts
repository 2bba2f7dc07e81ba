import type { Fundamental } from "../market/records.ts";
import { FILING_RULES } from "./filings.ts";
import { sampleSd } from "./statistics.ts";

/** Constants of the earnings surprise. */
export const SURPRISE_RULES = {
  /** Days between the same quarter of two years, and the tolerated deviation. */
  yearDays: 365,
  matchDays: 20,
  /** Seasonal differences in the standard deviation, the newest included, and the fewest of them. */
  differences: 8,
  minDifferences: 6,
  /** Sessions after the filing in which the surprise is used. */
  sessions: 63,
} as const;

/** Standardized unexpected earnings (SUE) of the newest quarter. */
export interface EarningsSurprise {
  /** Seasonal difference of net income over the standard deviation of the last eight. */
  readonly value: number;
  /** When the quarter was first filed, Unix milliseconds. */
  readonly availableAt: number;
}

/** Net income of a quarter. */
interface Quarter {
  readonly periodEnd: number;
  /** Value as last restated. */
  readonly value: number;
  /** When it was first filed, Unix milliseconds. */
  readonly availableAt: number;
}

/**
 * Standardized unexpected earnings (Foster, Olsen & Shevlin, 1984): net income of the newest quarter less
 * that of the same quarter a year earlier, over the standard deviation of the last eight such differences.
 *
 * @param fundamentals Known figures, ascending by `availableAt`.
 * @param dayMs Length of a market day in milliseconds.
 * @returns `undefined` without the quarter a year earlier, with too few differences, or without variance.
 */
export function earningsSurprise(
  fundamentals: readonly Fundamental[],
  dayMs: number,
): EarningsSurprise | undefined {
  const quarters = quartersOf(fundamentals, dayMs);
  const newest = quarters.at(-1);
  const differences = quarters
    .slice(-SURPRISE_RULES.differences)
    .map((quarter) => seasonalDifference(quarter, quarters, dayMs));
  const last = differences.at(-1);
  const known = differences.filter((one) => one !== undefined);
  if (newest === undefined || last === undefined) return undefined;
  if (known.length < SURPRISE_RULES.minDifferences) return undefined;
  const value = last / sampleSd(known);
  return Number.isFinite(value) ? { value, availableAt: newest.availableAt } : undefined;
}

/** Quarters with a net income that was filed in time, oldest first. */
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
  const { yearDays, matchDays } = SURPRISE_RULES;
  const before = quarters.find(
    (one) => Math.abs((periodEnd - one.periodEnd) / dayMs - yearDays) <= matchDays,
  );
  return before && value - before.value;
}
