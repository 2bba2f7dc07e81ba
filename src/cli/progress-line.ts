import type { Progress } from "../store/backup/progress.ts";
import { counted } from "./format.ts";

/** A command that is done before says nothing, in milliseconds. */
const QUIET_MS = 1_000;

/** Pause between two changes of the line, in milliseconds. */
const EVERY_MS = 100;

/** Takes the line away: back to its start (CR), erase to its end (ECMA-48 EL). */
const ERASE = "\r\u001b[K";

/** How far a command is; `rows` are counted in `unit`. */
interface Step extends Progress {
  /** What is counted; `rows` when absent. */
  readonly unit?: string;
}

/** One line on a terminal that says how far a command is. */
export interface ProgressLine {
  show(step: Step): void;
  /** Says what is done while nothing can be counted. */
  say(doing: string): void;
  /** Takes the line away. */
  end(): void;
}

/** What a line is written to. */
interface Output {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/**
 * Creates the line; nothing is ever written when the output is no terminal.
 *
 * @param clock Milliseconds that have passed since any fixed moment.
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
      write(`${doing}: ${percent}%, ${counted(rows)} ${unit}, ${seconds} s`);
    },
    say: (doing) => write(`${doing} ...`),
    end() {
      if (isShown) output.write(ERASE);
      isShown = false;
    },
  };
}
