import { existsSync, readFileSync } from "node:fs";

/** What a vitest report in JSON counts. */
interface Report {
  readonly success: boolean;
  readonly numPassedTests: number;
  readonly numFailedTests: number;
}

/** A run without a report did not get as far as its tests, which is one failure. */
const NO_REPORT: Report = { success: false, numPassedTests: 0, numFailedTests: 1 };

/** Prints what the reports named on the command line count together, and fails if any run did. */
const reports = process.argv
  .slice(2)
  .map((file): Report => (existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : NO_REPORT));
const passed = reports.reduce((sum, { numPassedTests }) => sum + numPassedTests, 0);
const counted = reports.reduce((sum, { numFailedTests }) => sum + numFailedTests, 0);
const hasFailed = reports.some(({ success }) => !success);
// A file that cannot be loaded fails a run without a test that fails.
const failed = hasFailed ? Math.max(1, counted) : 0;
process.stdout.write(`\n${passed} passed, ${failed} failed\n`);
if (hasFailed) process.exitCode = 1;
