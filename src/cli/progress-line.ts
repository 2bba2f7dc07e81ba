import type { Progress } from "../store/copies/progress.ts";
import { counted } from "./wording.ts";

/** A command that is done before says nothing, in milliseconds. */
const QUIET_MS = 1_000;

/** Pause between two changes of the line, in milliseconds. */
const EVERY_MS = 100;

/** Takes the line away: back to its start (CR), erase to its end (ECMA-48 EL). */
const ERASE = "\r\u001b[K";

/** One line on a terminal that says how far a command is. */
export interface ProgressLine {
  show(progress: Progress): void;
  /** Takes the line away. */
  end(): void;
}

/** What a line is written to. */
export interface Terminal {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/**
 * Creates the line; nothing is ever written when the output is no terminal.
 *
 * @param clock Milliseconds that have passed since any fixed moment.
 */
export function createProgressLine(output: Terminal, clock: () => number): ProgressLine {
  const startedAt = clock();
  let nextAt = startedAt + QUIET_MS;
  let isShown = false;
  return {
    show({ doing, rows, fraction }) {
      const now = clock();
      if (output.isTTY !== true || now < nextAt) return;
      nextAt = now + EVERY_MS;
      isShown = true;
      const percent = Math.floor(fraction * 100);
      const seconds = Math.floor((now - startedAt) / 1_000);
      output.write(`${ERASE}${doing}: ${percent}%, ${counted(rows)} rows, ${seconds} s`);
    },
    end() {
      if (isShown) output.write(ERASE);
      isShown = false;
    },
  };
}
