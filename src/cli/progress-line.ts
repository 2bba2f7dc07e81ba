import type { CommandProgress } from "../maintenance/backup/progress.ts";
import { terminalLine } from "../outbound/terminal-text.ts";
import { formatCount } from "./format.ts";

/** Duration after which a command shows its progress, in milliseconds. */
const QUIET_MS = 1_000;

/** Minimum interval between updates of the line, in milliseconds. */
const EVERY_MS = 100;

/**
 * Escape sequence that clears the line: it moves to the start (CR) and erases to the end (ECMA-48
 * EL).
 */
const ERASE = "\r\u001b[K";

/** A terminal line with the progress of a command. */
export interface ProgressLine {
  /** Shows a step; `rows` counts in `unit`, by default in rows. */
  show(step: CommandProgress & { readonly unit?: string }): void;
  /** Shows a step that has no count. */
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
    output.write(`${ERASE}${terminalLine(text)}`);
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
