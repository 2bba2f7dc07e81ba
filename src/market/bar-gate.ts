import { type BarMemory, judgeBar } from "./bar-judgement.ts";
import type { Bar, BarDoubt, RecordList, ReportedBar } from "./records.ts";

/** Judges the bars of one instrument as they arrive, in the order of their sessions. */
export class BarGate {
  #memory: BarMemory = {};
  readonly #doubts: BarDoubt[] = [];

  /** Every doubted bar so far. */
  get doubts(): RecordList<BarDoubt> {
    return this.#doubts;
  }

  /** Judges the next bar; the bars that are accepted now, oldest first. */
  pass(bar: ReportedBar): readonly ReportedBar[] {
    const { memory, accepted, verdict } = judgeBar(this.#memory, bar);
    this.#memory = memory;
    if (verdict !== undefined) {
      const doubt = this.#doubts.at(-1) as BarDoubt;
      const outcome = { verdict, at: bar.availableAt };
      this.#doubts[this.#doubts.length - 1] = { ...doubt, outcome };
    }
    if (memory.held !== undefined) {
      const { fault, detail } = memory.held.suspicion;
      const { session, availableAt } = bar;
      this.#doubts.push({ session, availableAt, fault, detail, outcome: null });
    }
    return accepted;
  }
}

/** A bar with its total return, dividends and splits included, since the close before it. */
export function withReturn(bar: ReportedBar, before: number | undefined): Bar {
  const { session, availableAt, open, high, low, close, volume, dividend, split } = bar;
  const logReturn = before === undefined ? null : Math.log(((close + dividend) * split) / before);
  // Written out: a spread is slower, and a market has a million bars.
  return { session, availableAt, open, high, low, close, volume, dividend, split, logReturn };
}
