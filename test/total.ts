import { existsSync, readFileSync } from "node:fs";

/** The counts in a JSON report of vitest. */
interface Report {
  readonly success: boolean;
  readonly numPassedTests: number;
  readonly numFailedTests: number;
}

/**
 * Assumed result of a run that wrote no report: it failed before its tests, which counts as one
 * failure.
 */
const NO_REPORT: Report = { success: false, numPassedTests: 0, numFailedTests: 1 };

/**
 * Reads the reports that the command line specifies, prints the sums of their counts, and fails if
 * any run failed.
 */
const reports = process.argv
  .slice(2)
  .map((file): Report => (existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : NO_REPORT));
const passed = reports.reduce((sum, { numPassedTests }) => sum + numPassedTests, 0);
const counted = reports.reduce((sum, { numFailedTests }) => sum + numFailedTests, 0);
const hasFailed = reports.some(({ success }) => !success);
// A test file that cannot be loaded makes the run fail without a failed test.
const failed = hasFailed ? Math.max(1, counted) : 0;
process.stdout.write(`\n${passed} passed, ${failed} failed\n`);
if (hasFailed) process.exitCode = 1;
