import type { AssetClass } from "../../market/instrument.ts";
import { CheckFailure, type VerificationCheck } from "../../tree/check.ts";
import { parseCheckpoint, type SignedCheckpoint } from "../../tree/checkpoint.ts";
import type { CheckpointSighting } from "../../tree/known-log.ts";
import type { Hash } from "../../tree/merkle.ts";
import type { ParsedNote } from "../../tree/signed-note.ts";
import { type Cosignature, cosignaturesOf } from "../witness/cosignature.ts";
import type { WitnessPolicy } from "../witness/policy.ts";
import { CLOCK_TOLERANCE_MS } from "./clock-tolerance.ts";
import type { LeafOf } from "./read-leaf.ts";

/**
 * Lower bound of the time between two closes of any market, in milliseconds; the shortest such time
 * is 21 hours, from a regular close to the close of a half day.
 */
const SHORTEST_SESSION_MS = 20 * 3_600_000;

/** A run, and when it was seen. */
interface TimedRun {
  readonly index: number;
  readonly run: LeafOf<"run">;
  /** When witnesses had seen the whole run, according to an anchor entry; Unix milliseconds. */
  witnessedAt: number | undefined;
}

/** By what the times of a log are checked. */
export interface TimeEvidence {
  /** Name of the log. */
  readonly origin: string;
  /** Earlier observations of the log, in ascending order of size. */
  readonly sightings: readonly CheckpointSighting[];
  /**
   * Policy with the witnesses whose cosignatures prove the times of anchors; without it, anchors
   * prove no time.
   */
  readonly policy?: WitnessPolicy | undefined;
}

/**
 * Checks that the times in a log never decrease and contradict no earlier observation of it, and
 * counts the runs that observers or witnesses prove to have been logged before the next close.
 */
export class TimeVerifier {
  readonly #evidence: TimeEvidence;
  /**
   * Root of the tree before each entry that follows a complete run, in base64, by the index of the
   * entry.
   */
  readonly #roots = new Map<number, string>();
  readonly #lastRuns = new Map<AssetClass, TimedRun>();
  #lastAt = Number.NEGATIVE_INFINITY;
  #anchors = 0;
  /** Number of runs that were seen before the next run of their class closed. */
  #provedRuns = 0;

  constructor(evidence: TimeEvidence) {
    this.#evidence = evidence;
  }

  /** Number of anchors added. */
  get anchors(): number {
    return this.#anchors;
  }

  /** Adds the root of the tree before an entry that follows a complete run. */
  addRoot(index: number, root: Hash): void {
    this.#roots.set(index, Buffer.from(root).toString("base64"));
  }

  /**
   * Adds the time of an entry.
   *
   * @throws {CheckFailure} If an earlier observation or entry proves that the entry is newer.
   */
  addTime(index: number, at: number): void {
    const seen = this.#evidence.sightings.findLast(({ size }) => size <= index);
    if (seen !== undefined && at < seen.seenAt - CLOCK_TOLERANCE_MS) {
      throw new CheckFailure("is dated back: it was not there when its time had passed");
    }
    if (at < this.#lastAt - CLOCK_TOLERANCE_MS) {
      throw new CheckFailure("has an earlier time than an entry before it");
    }
    this.#lastAt = Math.max(this.#lastAt, at);
  }

  /** Adds a run; the run before it of its class is proved if it was seen before this close. */
  addRun(index: number, run: LeafOf<"run">): void {
    const before = this.#lastRuns.get(run.assetClass);
    if (before !== undefined && this.#isSeenBefore(before, run.close)) this.#provedRuns += 1;
    this.#lastRuns.set(run.assetClass, { index, run, witnessedAt: undefined });
  }

  /**
   * Adds an anchor. Its cosignatures prove by when witnesses had seen the last run of each asset
   * class, if it covers the whole run.
   *
   * @param skipped Entries before this index are no longer stored.
   * @throws {CheckFailure} If it anchors another log or tree, or the signature of a witness is wrong.
   */
  addAnchor({ checkpoint: text }: LeafOf<"anchor">, skipped: number): void {
    this.#anchors += 1;
    const { origin, policy } = this.#evidence;
    const { size, root, note, origin: named } = checkpointIn(text);
    const found = this.#roots.get(size);
    if (named !== origin) throw new CheckFailure("anchors another log");
    if (found === undefined && size < skipped) return;
    if (found !== Buffer.from(root).toString("base64")) {
      throw new CheckFailure(`anchors another tree of ${size} entries than that of this log`);
    }
    const at = policy?.quorumAt(cosignaturesIn(note, policy));
    if (at === undefined) return;
    for (const last of this.#lastRuns.values()) {
      if (last.index + 1 + last.run.results <= size) last.witnessedAt ??= at;
    }
  }

  /**
   * The check that every run is proved older than the next close.
   *
   * @param market The kind of market of the log; `undefined` if the log has no method.
   * @param runs Number of runs of the log.
   */
  check(market: string | undefined, runs: number): VerificationCheck {
    const name = "times";
    if (market === "sandbox" || market === "replay") {
      const detail = `claimed: the sessions of market ${market} are no appointments in the world`;
      return { name, outcome: "not_proved", detail };
    }
    // The next close after the last run of a class is not known yet, so a lower bound is used.
    const newest = [...this.#lastRuns.values()].filter((one) =>
      this.#isSeenBefore(one, one.run.close + SHORTEST_SESSION_MS),
    );
    const proved = this.#provedRuns + newest.length;
    const detail = `${proved} of ${runs} runs are proved older than the next close, the others claimed`;
    return { name, outcome: proved === runs && runs > 0 ? "proved" : "not_proved", detail };
  }

  /**
   * Whether a run is proved to have been logged before the next close, because the whole run was
   * seen before that close.
   */
  #isSeenBefore({ index, run, witnessedAt }: TimedRun, nextClose: number): boolean {
    const end = index + 1 + run.results;
    const seen = this.#evidence.sightings.find(({ size }) => size >= end);
    return [witnessedAt, seen?.seenAt].some((at) => at !== undefined && at < nextClose);
  }
}

/**
 * Parses the checkpoint of an anchor.
 *
 * @throws {CheckFailure} If the text is not a checkpoint.
 */
function checkpointIn(text: string): SignedCheckpoint {
  try {
    return parseCheckpoint(text);
  } catch (error) {
    throw new CheckFailure(`anchors no checkpoint: ${(error as Error).message}`);
  }
}

/**
 * Verifies the cosignatures of the witnesses in a policy.
 *
 * @throws {CheckFailure} If the signature of a witness is wrong.
 */
function cosignaturesIn(note: ParsedNote, { verifiers }: WitnessPolicy): readonly Cosignature[] {
  try {
    return cosignaturesOf(note, verifiers);
  } catch (error) {
    throw new CheckFailure(`is an anchor of which ${(error as Error).message}`);
  }
}
