import type { VerificationCheck } from "../../src/tree/check.ts";

/**
 * State of a place in a store: the mark of the write that created it, with an asterisk once it is
 * consumed; `null` if there is nothing.
 */
export type Seen = string | null;

/** A place, such as `slot/0.3.7` or `row/0.3.12`, and its state. */
export type Standing = readonly [place: string, seen: Seen];

/** Report of a lane just before a commit. */
export interface Attempt {
  readonly is: "try";
  /**
   * Id of the lane: one of several concurrent writers, each with at most one commit in progress.
   */
  readonly lane: string;
  /** Start of the commit, in Unix milliseconds. */
  readonly at: number;
  /** Places that only this lane writes, with their state just before the commit. */
  readonly found: readonly Standing[];
  /** State of the written places if the commit is applied, either completely or not at all. */
  readonly effects: readonly Standing[];
  readonly expects: "held" | "not held" | "either";
}

/** Report of a lane about the end of a commit, or of the read before it. */
export interface Ending {
  /**
   * `held`: applied. `not held`: its condition failed. `refused`: the commit failed. `unread`: the
   * read before it failed.
   */
  readonly is: "held" | "not held" | "refused" | "unread";
  readonly lane: string;
  /** Code of the problem for `refused` and `unread`. */
  readonly code?: string;
}

/** One line that a process of the crash harness writes to its standard output. */
export type Report =
  | Attempt
  | Ending
  /** The store is about to be opened. */
  | { readonly is: "start" }
  /** The store is open, after `ms` milliseconds. */
  | { readonly is: "open"; readonly ms: number; readonly records: number }
  /** A part of the contents of the store. */
  | { readonly is: "contents"; readonly contents: readonly Standing[] }
  /** All contents were reported. */
  | { readonly is: "complete" }
  /** The signal log is open, perhaps in the middle of a run or of a settlement. */
  | { readonly is: "log open"; readonly inside: "run" | "settlement" | null }
  /** This process has begun to settle a run. */
  | { readonly is: "log settling" }
  /** The log serves a new checkpoint. */
  | { readonly is: "signed"; readonly note: string }
  /** The process does not sign the log. */
  | { readonly is: "log refused"; readonly reason: string }
  /** The log was verified from its first entry to its last. */
  | {
      readonly is: "log verified";
      readonly size: number;
      readonly checks: readonly VerificationCheck[];
      readonly refusals: readonly string[];
      /**
       * Number of settled runs over all horizons, and number of horizons whose figures in the store
       * differ from those computed from the entries.
       */
      readonly settled: number;
      readonly differing: number;
    }
  /** A watched record is no longer visible. */
  | { readonly is: "gone"; readonly key: string }
  /** The store cannot be opened, or one of its files is corrupt. */
  | { readonly is: "damaged"; readonly text: string };
