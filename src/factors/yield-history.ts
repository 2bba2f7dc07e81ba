import { clippedZ, type MeanAndSd, meanAndSd } from "./statistics.ts";
import { YIELD_NAMES, type YieldName, type Yields } from "./yields.ts";

/** Constants of a stock's own history of yields, which has one point a month. */
export const YIELD_HISTORY_RULES = {
  /** Length of a month in market days: 365.25 / 12. */
  monthDays: 30.4375,
  maxMonths: 60,
  minMonths: 24,
} as const;

/**
 * Mean and sample standard deviation of each yield over the past months; absent for a yield with
 * too few months.
 */
export type YieldNorms = Readonly<Partial<Record<YieldName, MeanAndSd>>>;

/** Keeps the yields of one stock at the first session of each month. */
export interface YieldHistory {
  /** Norms over the months added so far; replaced by a new object only when a month is added. */
  readonly norms: YieldNorms;
  /** Whether an instant (Unix milliseconds) lies in a month that has no point yet. */
  isDue(at: number): boolean;
  /** Adds the yields of the month that contains an instant (Unix milliseconds). */
  add(yields: Yields, at: number): void;
}

/**
 * Creates an empty yield history, to which yields are added month by month.
 *
 * @param dayMs Length of a market day in milliseconds.
 */
export function createYieldHistory(dayMs: number): YieldHistory {
  const monthOf = (at: number) => Math.floor(at / (YIELD_HISTORY_RULES.monthDays * dayMs));
  const past = new Map<YieldName, number[]>();
  let month = Number.NEGATIVE_INFINITY;
  let norms: YieldNorms = {};
  return {
    get norms() {
      return norms;
    },
    isDue: (at) => monthOf(at) > month,
    add(yields, at) {
      month = monthOf(at);
      for (const name of YIELD_NAMES) {
        const value = yields[name];
        if (value !== undefined) append(past, name, value);
      }
      norms = normsOf(past);
    },
  };
}

function append(past: Map<YieldName, number[]>, name: YieldName, value: number): void {
  const values = past.get(name) ?? [];
  past.set(name, values);
  if (values.push(value) > YIELD_HISTORY_RULES.maxMonths) values.shift();
}

function normsOf(past: ReadonlyMap<YieldName, readonly number[]>): YieldNorms {
  const long = [...past].filter(([, values]) => values.length >= YIELD_HISTORY_RULES.minMonths);
  return Object.fromEntries(long.map(([name, values]) => [name, meanAndSd(values)]));
}

/**
 * z of a yield against the stock's own past: clip((y - mean) / sd, -3, 3); `undefined` if unknown.
 */
export function yieldZAgainstHistory(
  name: YieldName,
  yields: Yields,
  norms: YieldNorms,
): number | undefined {
  const value = yields[name];
  const norm = norms[name];
  return value === undefined || norm === undefined ? undefined : clippedZ(value, norm);
}
