import { clippedZ, meanAndSd, type Norm } from "./statistics.ts";
import { YIELDS, type YieldName, type Yields } from "./yields.ts";

/** A stock's own past, one point a month. */
export const OWN_HISTORY = {
  /** Market days of one month, a twelfth of 365.25. */
  monthDays: 30.4375,
  maxMonths: 60,
  minMonths: 24,
} as const;

/** Mean and sample deviation of each yield over the past months, where there are enough. */
export type YieldNorms = Readonly<Partial<Record<YieldName, Norm>>>;

/** Keeps the yields of one stock at the first session of each month. */
export interface YieldHistory {
  /** Norms of the months before the current one; a new object only when a month is added. */
  readonly norms: YieldNorms;
  /** Whether an instant (Unix milliseconds) lies in a month that has no point yet. */
  isDue(at: number): boolean;
  /** Adds the point of the month of an instant. */
  add(yields: Yields, at: number): void;
}

/**
 * Creates an empty history.
 *
 * @param dayMs Length of a market day in milliseconds.
 */
export function createYieldHistory(dayMs: number): YieldHistory {
  const monthOf = (at: number) => Math.floor(at / (OWN_HISTORY.monthDays * dayMs));
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
      for (const name of YIELDS) {
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
  if (values.push(value) > OWN_HISTORY.maxMonths) values.shift();
}

function normsOf(past: ReadonlyMap<YieldName, readonly number[]>): YieldNorms {
  const long = [...past].filter(([, values]) => values.length >= OWN_HISTORY.minMonths);
  return Object.fromEntries(long.map(([name, values]) => [name, meanAndSd(values)]));
}

/** How unusual a yield is for the stock itself: clip((y - mean) / sd, -3, 3), where known. */
export function ownYieldZ(name: YieldName, yields: Yields, norms: YieldNorms): number | undefined {
  const value = yields[name];
  const norm = norms[name];
  return value === undefined || norm === undefined ? undefined : clippedZ(value, norm);
}
