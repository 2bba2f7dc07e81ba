import { Temporal } from "temporal-polyfill";
import type { ReportWindows } from "./next-report.ts";

/** Share of the filings before a window's year that the window contained, as a fraction. */
export const REPORT_WINDOW_COVERAGE = 0.95;

/**
 * Windows, in days around the expected day, that contained 95 % of filings. The windows of a year
 * were fitted on the filings of 369 large US companies before that year (`fitReportWindows`). From
 * 2012 to 2026, 96.1 % of 17,305 filings fell within the windows (docs/method-and-backtest.md).
 */
const MEASURED_DAYS: Readonly<Record<number, ReportWindows["days"]>> = {
  2011: { year_before: [-7, 9] },
  2012: { year_before: [-7, 7], median_lag: [-6, 7] },
  2013: { year_before: [-7, 7], median_lag: [-7, 8] },
  2014: { year_before: [-7, 8], median_lag: [-7, 7] },
  2015: { year_before: [-7, 7], median_lag: [-8, 7] },
  2016: { year_before: [-7, 8], median_lag: [-8, 7] },
  2017: { year_before: [-7, 8], median_lag: [-8, 7] },
  2018: { year_before: [-7, 8], median_lag: [-8, 7] },
  2019: { year_before: [-7, 8], median_lag: [-8, 7] },
  2020: { year_before: [-7, 8], median_lag: [-8, 7] },
  2021: { year_before: [-7, 8], median_lag: [-8, 8] },
  2022: { year_before: [-7, 8], median_lag: [-8, 8] },
  2023: { year_before: [-7, 8], median_lag: [-8, 8] },
  2024: { year_before: [-7, 8], median_lag: [-8, 8] },
  2025: { year_before: [-7, 8], median_lag: [-8, 8] },
  2026: { year_before: [-7, 8], median_lag: [-8, 8] },
};

/** The measured windows, oldest first; the last also applies to later years. */
export const MEASURED_REPORT_WINDOWS: readonly ReportWindows[] = Object.entries(MEASURED_DAYS).map(
  ([year, days]) => ({
    from: Temporal.Instant.from(`${year}-01-01T00:00Z`).epochMilliseconds,
    days,
  }),
);

/**
 * Simulated companies file 20 to 50 days after a quarter, uniformly distributed. The difference of
 * two such lags is within 30 (1 - sqrt(.05)) = 23.3 days in 95 % of cases.
 */
const SIMULATED_WINDOWS: readonly ReportWindows[] = [
  { from: 0, days: { year_before: [-24, 24], median_lag: [-24, 24] } },
];

/** The prediction windows for companies of a simulated or real market. */
export const reportWindowsOf = ({ simulated }: { readonly simulated: boolean }) =>
  simulated ? SIMULATED_WINDOWS : MEASURED_REPORT_WINDOWS;
