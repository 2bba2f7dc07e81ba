import type { Bar, ReportedBar } from "./records.ts";

/** Adds to a bar its total log return since the previous close, including dividends and splits. */
export function withLogReturn(bar: ReportedBar, before: number | undefined): Bar {
  const { session, availableAt, open, high, low, close, volume, dividend, split } = bar;
  const logReturn = before === undefined ? null : Math.log(((close + dividend) * split) / before);
  // The members are listed because object spread is slower, and a market has a million bars.
  return { session, availableAt, open, high, low, close, volume, dividend, split, logReturn };
}
