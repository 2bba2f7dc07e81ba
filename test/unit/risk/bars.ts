import { DAY_MS } from "../../../src/lib/day.ts";
import { newYorkInstant } from "../../../src/market/new-york.ts";
import type { Bar, Fundamental } from "../../../src/market/records.ts";
import { randomAt } from "../../../src/statistics/random.ts";

/**
 * Simulated daily bars whose volatility rises by the factor `swing` within each year of 252 days.
 * The close of day n is known n days after the Unix epoch.
 */
export function madeBars(count: number, seed = 1, swing = 2): readonly Bar[] {
  let close = 100;
  return Array.from({ length: count }, (_, day) => {
    const scale = 0.01 * (1 + (swing - 1) * ((day % 252) / 252));
    const logReturn = scale * (randomAt(seed, 2 * day) + randomAt(seed, 2 * day + 1) - 1);
    const open = close;
    close *= Math.exp(logReturn);
    return {
      session: `day ${day}`,
      availableAt: day * DAY_MS,
      open,
      high: Math.max(open, close) * 1.002,
      low: Math.min(open, close) * 0.998,
      close,
      volume: 1_000_000,
      dividend: 0,
      split: 1,
      logReturn: day === 0 ? null : logReturn,
    };
  });
}

/** The bars of `madeBars` on weekdays, including holidays, each known at 16:15 New York time. */
export const weekdayBars = (first: string, count: number): readonly Bar[] =>
  madeBars(count).map((bar, index) => {
    const day = Date.parse(first) + (Math.floor(index / 5) * 7 + (index % 5)) * DAY_MS;
    const session = new Date(day).toISOString().slice(0, 10);
    return { ...bar, session, availableAt: newYorkInstant(session, "16:15") };
  });

/**
 * A quarterly figure that was filed on a day in New York, and is known from the following midnight.
 */
export const filedFundamental = (periodEnd: string, day: string): Fundamental => ({
  metric: "netIncome",
  periodEnd: Date.parse(periodEnd) + DAY_MS - 1,
  availableAt: newYorkInstant(day, "00:00") + DAY_MS,
  value: 1,
});
