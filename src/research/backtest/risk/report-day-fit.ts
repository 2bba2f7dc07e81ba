import { REPORT_REACH } from "../../../risk/report-days.ts";

/** When a report was expected at the close of a forecast, and what followed. */
export interface ReportOutcome {
  /** ISO date of the last session of the horizon. */
  readonly end: string;
  /** From `sessionsToReport`. */
  readonly reportIn: number | null;
  /** Squared returns of the horizon's sessions over the forecast variance of one; `NaN` without a
   *  bar. */
  readonly ratios: Float64Array;
}

/**
 * Fits the factors of `HorizonQuantiles.reportDays`: the mean ratio at each distance from the
 * expected report, over that of all sessions further away.
 *
 * @param before ISO date or its beginning: horizons that end later do not count.
 * @returns All 1 without a session further away.
 */
export function fitReportDays(
  outcomes: readonly ReportOutcome[],
  before: string,
): readonly number[] {
  const near = Array.from({ length: 2 * REPORT_REACH + 1 }, () => ({ sum: 0, count: 0 }));
  const far = { sum: 0, count: 0 };
  for (const { end, reportIn, ratios } of outcomes) {
    if (end >= before) continue;
    for (const [index, ratio] of ratios.entries()) {
      if (Number.isNaN(ratio)) continue;
      const place = reportIn === null ? -1 : index + 1 - reportIn + REPORT_REACH;
      const of = near[place] ?? far;
      of.sum += ratio;
      of.count += 1;
    }
  }
  const usual = far.sum / far.count;
  return near.map(({ sum, count }) => {
    const factor = sum / count / usual;
    return Number.isFinite(factor) ? factor : 1;
  });
}
