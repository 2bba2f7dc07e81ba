import { randomAt } from "../../../src/grading/random.ts";
import type { Bar } from "../../../src/market/records.ts";

export const DAY_MS = 86_400_000;

/** Daily bars whose volatility rises by `swing` within each year; the close of day n is at n days. */
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
