import type { Check } from "../../src/log/verify/check.ts";

/**
 * What stands at a place of a store: the mark of the write that put it there, with an asterisk
 * once its one use was made; `null` when there is nothing.
 */
export type Seen = string | null;

/** A key, such as `slot/0.3.7` or `row/0.3.12`, and its value. */
export type Standing = readonly [place: string, seen: Seen];

/** What a lane is about to do. */
export interface Attempt {
  readonly is: "try";
  /** Which of the writers that run side by side; it has one attempt under way at a time. */
  readonly lane: string;
  /** Start of the attempt, in milliseconds since the epoch. */
  readonly at: number;
  /** Places that only this lane writes, as it has just read them. */
  readonly found: readonly Standing[];
  /** What must stand there when the attempt holds: all of it, or else none. */
  readonly effects: readonly Standing[];
  readonly expects: "held" | "not held" | "either";
}

/** How an attempt, or the read before it, ended. */
export interface Ending {
  /** `refused`: it failed; `unread`: what it needs could not be read. */
  readonly is: "held" | "not held" | "refused" | "unread";
  readonly lane: string;
  /** Code of the problem, for `refused` and `unread`. */
  readonly code?: string;
}

/** One line of a process of the harness on its standard output. */
export type Report =
  | Attempt
  | Ending
  /** The store is about to be opened. */
  | { readonly is: "start" }
  /** The store is open; how long that took, in milliseconds. */
  | { readonly is: "open"; readonly ms: number; readonly records: number }
  /** A part of the contents of the store. */
  | { readonly is: "contents"; readonly contents: readonly Standing[] }
  /** All contents were reported. */
  | { readonly is: "complete" }
  /** The log of signals is open, perhaps in the middle of a run or of a settlement. */
  | { readonly is: "log open"; readonly inside: "run" | "settlement" | null }
  /** This process has begun to settle a run. */
  | { readonly is: "log settling" }
  /** A checkpoint is served. */
  | { readonly is: "signed"; readonly note: string }
  /** The log is not signed. */
  | { readonly is: "log refused"; readonly reason: string }
  /** The log was verified from its first entry to its last. */
  | {
      readonly is: "log verified";
      readonly size: number;
      readonly checks: readonly Check[];
      readonly refusals: readonly string[];
      /** Settled runs of the record, over all horizons, and horizons whose figures are others by the
       *  entries than by the store. */
      readonly settled: number;
      readonly differing: number;
    }
  /** A watched record is no longer seen. */
  | { readonly is: "gone"; readonly key: string }
  /** The store cannot be opened, or its files do not hold together. */
  | { readonly is: "damaged"; readonly text: string };
