import { writeSync } from "node:fs";
import type { Report } from "./reports.ts";

/** Pause while the pipe is full, in milliseconds. */
const FULL_PIPE_MS = 1;

/**
 * A value that never changes: waiting for a change blocks the thread, so that lines keep their
 * order.
 */
const never = new Int32Array(new SharedArrayBuffer(4));

/**
 * Writes a report to standard output, synchronously, so that a later kill of the process cannot
 * lose it. A full pipe takes only a part of the bytes, or none (EAGAIN).
 */
export function writeReport(report: Report): void {
  const line = Buffer.from(`${JSON.stringify(report)}\n`);
  for (let written = 0; written < line.length; ) {
    try {
      written += writeSync(1, line, written);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      Atomics.wait(never, 0, 0, FULL_PIPE_MS);
    }
  }
}
