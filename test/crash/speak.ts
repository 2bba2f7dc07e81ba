import { writeSync } from "node:fs";
import type { Report } from "./reports.ts";

/** Writes a line to the harness; it is in the pipe when this returns, so that no end of the
 *  process takes it back. */
export function speak(report: Report): void {
  writeSync(1, `${JSON.stringify(report)}\n`);
}
