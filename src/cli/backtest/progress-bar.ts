import type { BacktestProgress } from "../../backtest/run-backtest.ts";
import type { Terminal } from "../progress-line.ts";
import { counted } from "../wording.ts";

/** Pause between two changes of the bar, in milliseconds. */
const EVERY_MS = 100;
/** Characters of the bar. */
const LENGTH = 30;
/** Takes the line away: back to its start (CR), erase to its end (ECMA-48 EL). */
const ERASE = "\r\u001b[K";

/** A bar on a terminal that says how far the walk is. */
export interface ProgressBar {
  show(progress: BacktestProgress): void;
  /** Says what is done while nothing can be counted. */
  say(doing: string): void;
  /** Takes the bar away. */
  end(): void;
}

/**
 * Creates the bar; nothing is ever written when the output is no terminal.
 *
 * @param clock Milliseconds that have passed since any fixed moment.
 */
export function createProgressBar(output: Terminal, clock: () => number): ProgressBar {
  const startedAt = clock();
  let nextAt = startedAt;
  const write = (text: string) => {
    if (output.isTTY === true) output.write(`${ERASE}${text}`);
  };
  return {
    show({ session, scores, fraction }) {
      const now = clock();
      if (now < nextAt) return;
      nextAt = now + EVERY_MS;
      const share = Math.min(1, Math.max(0, fraction));
      const full = Math.round(share * LENGTH);
      const bar = "█".repeat(full) + "░".repeat(LENGTH - full);
      const seconds = Math.floor((now - startedAt) / 1_000);
      const percent = String(Math.floor(share * 100)).padStart(3);
      write(`${bar} ${percent} %  ${session}  ${counted(scores)} scores  ${seconds} s`);
    },
    say: (doing) => write(`${doing} ...`),
    end: () => write(""),
  };
}
