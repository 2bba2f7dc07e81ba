import type { Bar, ReportedBar } from "./records.ts";

/** A bar with its total return, dividends and splits included, since the close before it. */
export function withReturn(bar: ReportedBar, before: number | undefined): Bar {
  const { session, availableAt, open, high, low, close, volume, dividend, split } = bar;
  const logReturn = before === undefined ? null : Math.log(((close + dividend) * split) / before);
  // Written out: a spread is slower, and a market has a million bars.
  return { session, availableAt, open, high, low, close, volume, dividend, split, logReturn };
}
