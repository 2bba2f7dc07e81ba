import type { Progress } from "../store/backup/progress.ts";
import { formatCount } from "./format.ts";

/** Minimum duration of a command that shows its progress, in milliseconds. */
const QUIET_MS = 1_000;

/** Interval of updates, in milliseconds. */
const EVERY_MS = 100;

/** Clears the line: back to its start (CR), erase to its end (ECMA-48 EL). */
const ERASE = "\r\u001b[K";

/** Progress of a command; `rows` are counted in `unit`. */
interface Step extends Progress {
  /** What is counted; `rows` when absent. */
  readonly unit?: string;
}

/** A terminal line with the progress of a command. */
export interface ProgressLine {
  show(step: Step): void;
  /** Shows a step whose progress cannot be counted. */
  say(doing: string): void;
  /** Clears the line. */
  end(): void;
}

/** The stream that the line is written to. */
interface Output {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/**
 * Creates the line. It writes nothing unless the output is a terminal.
 *
 * @param clock Monotonic clock, in milliseconds.
 */
export function createProgressLine(output: Output, clock: () => number): ProgressLine {
  const startedAt = clock();
  let nextAt = startedAt + QUIET_MS;
  let isShown = false;
  function write(text: string): void {
    if (output.isTTY !== true) return;
    isShown = true;
    output.write(`${ERASE}${text}`);
  }
  return {
    show({ doing, rows, fraction, unit = "rows" }) {
      const now = clock();
      if (now < nextAt) return;
      nextAt = now + EVERY_MS;
      const percent = Math.floor(Math.min(1, Math.max(0, fraction)) * 100);
      const seconds = Math.floor((now - startedAt) / 1_000);
      write(`${doing}: ${percent}%, ${formatCount(rows)} ${unit}, ${seconds} s`);
    },
    say: (doing) => write(`${doing} ...`),
    end() {
      if (isShown) output.write(ERASE);
      isShown = false;
    },
  };
}
