import type { TrackRecordTerms } from "../../grading/track-record.ts";
import type { AssetClass } from "../../market/instrument.ts";
import { CheckFailure, failedCheck, type VerificationCheck } from "../../tree/check.ts";
import { parseCheckpoint, type SignedCheckpoint } from "../../tree/checkpoint.ts";
import type { CheckpointSighting } from "../../tree/known-log.ts";
import type { Hash } from "../../tree/merkle.ts";
import type { ParsedNote } from "../../tree/signed-note.ts";
import type { RegisteredClaim } from "../log-state.ts";
import { type Cosignature, cosignaturesOf } from "../witness/cosignature.ts";
import type { WitnessPolicy } from "../witness/policy.ts";
import { ClaimVerifier, checkDeparture } from "./claim-verifier.ts";
import { CLOCK_TOLERANCE_MS } from "./clock-tolerance.ts";
import { type LeafOf, parseLeaf } from "./read-leaf.ts";
import type { CommittedSignal } from "./score-check.ts";
import { SessionGaps } from "./session-gaps.ts";
import {
  type LoggedSettlement,
  SettlementVerifier,
  type VerifiedTrackRecord,
} from "./settlement-verifier.ts";

/**
 * Lower bound of the time between two closes of any market, in milliseconds; the shortest such time
 * is 21 hours, from a regular close to the close of a half day.
 */
const SHORTEST_SESSION_MS = 20 * 3_600_000;

/** Number of newest signals that are remembered for opening their factors. */
const RECENT = 256;

/** Maximum rounding error of a published score: half a unit in its last digit. */
const ROUNDING = 0.005;

/** The covered instruments of an asset class, as logged last. */
interface Covered {
  readonly index: number;
  readonly parts: number;
  read: number;
  readonly symbols: string[];
}

/** A run and the number of its results read so far. */
interface CheckedRun {
  readonly index: number;
  readonly run: LeafOf<"run">;
  /** Symbols of the universe; `undefined` if the log no longer stores it. */
  readonly symbols: readonly string[] | undefined;
  results: number;
  /** When witnesses had seen the whole run, according to an anchor entry; Unix milliseconds. */
  witnessedAt: number | undefined;
}

/** Options of `EntryVerifier`. */
interface EntryVerifierOptions {
  /** Name of the log. */
  readonly origin: string;
  /** Earlier observations of the log, in ascending order of size. */
  readonly sightings: readonly CheckpointSighting[];
  /**
   * Policy with the witnesses whose cosignatures prove the times of anchors; without it, anchors
   * prove no time.
   */
  readonly policy?: WitnessPolicy | undefined;
  /** Called with every complete settlement. */
  readonly onSettled?: ((settlement: LoggedSettlement) => void) | undefined;
}

/**
 * Reads the entries of a log in order and checks them against each other: methods precede their
 * use, every run has all its results and outcomes, times never decrease. Each check stops at its
 * first failure.
 */
export class EntryVerifier {
  readonly #options: EntryVerifierOptions;
  /**
   * Root of the tree before each entry that follows a complete run, in base64, by the index of the
   * entry.
   */
  readonly #roots = new Map<number, string>();
  readonly #failures = new Map<string, VerificationCheck>();
  readonly #universes = new Map<AssetClass, Covered>();
  readonly #lastRuns = new Map<AssetClass, CheckedRun>();
  readonly #gaps = new SessionGaps();
  readonly #settlements: SettlementVerifier;
  readonly #claims = new ClaimVerifier();
  #method: LeafOf<"method"> | undefined;
  #replaces: string | undefined;
  #open: CheckedRun | undefined;
  #lastAt = Number.NEGATIVE_INFINITY;
  #entries = 0;
  #runs = 0;
  #signals = 0;
  readonly #recent: CommittedSignal[] = [];
  #anchors = 0;
  #unknown = 0;
  /** Entries before this index are no longer stored; their content is unknown. */
  #skipped = 0;
  /**
   * Number of runs that an earlier observation proves to have been logged before the next close.
   */
  #provedRuns = 0;

  constructor(options: EntryVerifierOptions) {
    this.#options = options;
    this.#settlements = new SettlementVerifier(options.onSettled);
  }

  /**
   * Checks the next entry.
   *
   * @param text `undefined` if the log no longer stores the entry.
   * @param rootBefore Returns the root of the tree before the entry.
   */
  add(text: string | undefined, rootBefore: () => Hash): void {
    const index = this.#entries;
    this.#entries += 1;
    if (text === undefined) {
      this.#skipped = this.#entries;
      return;
    }
    const leaf = this.#try("entries", index, () => parseLeaf(text));
    if (leaf === undefined) return;
    if (leaf.kind !== "outcome") {
      this.#try("settlements", index, () => this.#settlements.endSettlement());
    }
    if (leaf.kind !== "signal") this.#try("runs", index, () => this.#endRun());
    if (leaf.kind !== "signal" && leaf.kind !== "outcome") {
      this.#roots.set(index, Buffer.from(rootBefore()).toString("base64"));
    }
    this.#addLeaf(index, leaf);
  }

  #addLeaf(index: number, leaf: ReturnType<typeof parseLeaf>): void {
    switch (leaf.kind) {
      case "method":
        this.#method = leaf;
        this.#replaces ??= leaf.replaces;
        this.#settlements.setMethod(leaf);
        this.#try("methods", index, () => checkDeparture(leaf));
        break;
      case "claim":
        this.#try("claims", index, () =>
          this.#claims.add(index, leaf, { method: this.#method, isWhole: this.#skipped === 0 }),
        );
        break;
      case "anchor":
        this.#try("anchors", index, () => this.#addAnchor(leaf));
        break;
      case "universe":
        this.#try("runs", index, () => this.#addUniverse(index, leaf));
        break;
      case "run":
        this.#addRun(index, leaf);
        break;
      case "signal":
        this.#addSignal(index, leaf);
        break;
      case "settlement":
        this.#addSettlement(index, leaf);
        break;
      case "outcome":
        this.#try("settlements", index, () => this.#settlements.addOutcome(leaf, this.#skipped));
        break;
      case "unknown":
        this.#unknown += 1;
    }
  }

  #addSettlement(index: number, leaf: LeafOf<"settlement">): void {
    this.#try("times", index, () => this.#checkTime(index, leaf));
    this.#try("settlements", index, () =>
      this.#settlements.addSettlement(index, leaf, this.#skipped),
    );
  }

  /** The checks of all added entries. */
  checks(): readonly VerificationCheck[] {
    this.#try("runs", this.#entries, () => this.#endRun());
    this.#try("settlements", this.#entries, () => this.#settlements.endSettlement());
    const [runs, signals] = [this.#runs, this.#signals];
    const isWhole = this.#unknown + this.#skipped === 0;
    const unknown = `of ${this.#entries}, the first ${this.#skipped} are not kept, and ${this.#unknown} of kinds that this program does not know`;
    return [
      this.#check("entries", isWhole, isWhole ? `all ${this.#entries} are canonical` : unknown),
      this.#check("methods", true, "every run names the method that was logged before it"),
      this.#check("runs", true, `all ${runs} have exactly the results that they announce`),
      this.#check("thresholds", true, `none of ${signals} signals contradicts its smoothed score`),
      ...this.#claimCheck(),
      ...this.#anchorCheck(),
      this.#times(),
      this.#gaps.check(this.#method?.market !== "sandbox"),
      this.#failures.get("settlements") ?? this.#settlements.check(),
    ];
  }

  /** Number of signals read. */
  get signals(): number {
    return this.#signals;
  }

  /** The newest signals with a commitment to their factors, oldest first. */
  get recentSignals(): readonly CommittedSignal[] {
    return this.#recent;
  }

  /** Number of entries at the start of the log that it no longer stores. */
  get skipped(): number {
    return this.#skipped;
  }

  /**
   * Text of the last checkpoint of the log that this log takes the place of, as its first `method`
   * entry that names one says; `undefined` if none does.
   */
  get replaces(): string | undefined {
    return this.#replaces;
  }

  /** The terms by which the log is graded; `undefined` if no method registers any. */
  get terms(): TrackRecordTerms | undefined {
    return this.#settlements.terms;
  }

  /** The claims, by method hash. */
  get claims(): ReadonlyMap<string, RegisteredClaim> {
    return this.#claims.claims;
  }

  /** The track record of each class, horizon and method, computed from the first `size` entries. */
  records(size: number): readonly VerifiedTrackRecord[] {
    return this.#settlements.records(size);
  }

  #claimCheck(): readonly VerificationCheck[] {
    const { size } = this.#claims.claims;
    if (size === 0 && !this.#failures.has("claims")) return [];
    const detail = `all ${size} were registered before the first run that judges them`;
    return [this.#check("claims", true, detail)];
  }

  #anchorCheck(): readonly VerificationCheck[] {
    if (this.#anchors === 0) return [];
    const detail = `all ${this.#anchors} name trees that this log had`;
    return [this.#check("anchors", true, detail)];
  }

  #times(): VerificationCheck {
    const { market } = this.#method ?? {};
    const isSimulated = market === "sandbox" || market === "replay";
    // The next close after the last run of a class is not known yet, so a lower bound is used.
    const newest = [...this.#lastRuns.values()].filter((one) =>
      this.#isSeenBefore(one, one.run.close + SHORTEST_SESSION_MS),
    );
    const proved = isSimulated ? 0 : this.#provedRuns + newest.length;
    const runs = this.#runs;
    const detail = isSimulated
      ? `claimed: the sessions of market ${market} are no appointments in the world`
      : `${proved} of ${runs} runs are proved older than the next close, the others claimed`;
    return this.#check("times", proved === runs && runs > 0 && !isSimulated, detail);
  }

  #check(name: string, isProved: boolean, detail: string): VerificationCheck {
    const outcome = isProved ? "proved" : "not_proved";
    return this.#failures.get(name) ?? { name, outcome, detail };
  }

  /** Runs a check, and records its first failure under its name. */
  #try<T>(name: string, index: number, check: () => T): T | undefined {
    try {
      return check();
    } catch (error) {
      const failure =
        error instanceof CheckFailure
          ? new CheckFailure(`entry ${error.entry ?? index} ${error.message}`, error.entry ?? index)
          : error;
      if (!this.#failures.has(name)) this.#failures.set(name, failedCheck(name, failure));
      return undefined;
    }
  }

  #addUniverse(index: number, leaf: LeafOf<"universe">): void {
    const { assetClass, part, parts, symbols } = leaf;
    const before = this.#universes.get(assetClass);
    if (part === 1) {
      this.#universes.set(assetClass, { index, parts, read: 1, symbols: [...symbols] });
    } else if (before === undefined && this.#skipped > 0) {
      return;
    } else if (before?.read === part - 1 && before.parts === parts) {
      before.read = part;
      before.symbols.push(...symbols);
    } else {
      throw new CheckFailure(`is part ${part} of a universe whose part before is missing`);
    }
  }

  #addRun(index: number, run: LeafOf<"run">): void {
    this.#runs += 1;
    const universe = this.#universes.get(run.assetClass);
    const isKnown = run.universe >= this.#skipped;
    const symbols = isKnown ? (universe?.symbols ?? []) : undefined;
    const before = this.#lastRuns.get(run.assetClass);
    this.#try("methods", index, () => {
      if (this.#method === undefined && this.#skipped > 0) return;
      if (run.methodHash === this.#method?.methodHash) return;
      throw new CheckFailure("uses a method that was not logged before");
    });
    this.#try("runs", index, () => {
      const isWhole = universe?.index === run.universe && universe.read === universe.parts;
      if (isKnown && !isWhole) {
        throw new CheckFailure("names another universe than the last one of its class");
      }
      if (symbols !== undefined && run.results !== symbols.length) {
        throw new CheckFailure(`announces ${run.results} results of ${symbols.length} instruments`);
      }
      if (before !== undefined && run.close <= before.run.close) {
        throw new CheckFailure("is of a session that is not after the one before");
      }
    });
    this.#try("claims", index, () => {
      if (this.#method !== undefined) this.#claims.addRun(run, this.#method);
    });
    this.#try("times", index, () => this.#checkTime(index, run));
    if (before !== undefined && this.#isSeenBefore(before, run.close)) this.#provedRuns += 1;
    this.#open = { index, run, symbols, results: 0, witnessedAt: undefined };
    this.#lastRuns.set(run.assetClass, this.#open);
    this.#gaps.add(run.assetClass, run.close);
    this.#try("settlements", index, () => this.#settlements.addRun(index, run));
  }

  #checkTime(index: number, { at }: { readonly at: number }): void {
    const seen = this.#options.sightings.findLast(({ size }) => size <= index);
    if (seen !== undefined && at < seen.seenAt - CLOCK_TOLERANCE_MS) {
      throw new CheckFailure("is dated back: it was not there when its time had passed");
    }
    if (at < this.#lastAt - CLOCK_TOLERANCE_MS) {
      throw new CheckFailure("has an earlier time than an entry before it");
    }
    this.#lastAt = Math.max(this.#lastAt, at);
  }

  /**
   * Whether a run is proved to have been logged before the next close, because the whole run was
   * seen before that close.
   */
  #isSeenBefore({ index, run, witnessedAt }: CheckedRun, nextClose: number): boolean {
    const end = index + 1 + run.results;
    const seen = this.#options.sightings.find(({ size }) => size >= end);
    return [witnessedAt, seen?.seenAt].some((at) => at !== undefined && at < nextClose);
  }

  /**
   * Determines by when witnesses had seen the last run of each asset class, from the cosignatures
   * in an anchor that covers the whole run.
   */
  #addAnchor({ checkpoint: text }: LeafOf<"anchor">): void {
    this.#anchors += 1;
    const { origin, policy } = this.#options;
    const { size, root, note, origin: named } = checkpointIn(text);
    const found = this.#roots.get(size);
    if (named !== origin) throw new CheckFailure("anchors another log");
    if (found === undefined && size < this.#skipped) return;
    if (found !== Buffer.from(root).toString("base64")) {
      throw new CheckFailure(`anchors another tree of ${size} entries than that of this log`);
    }
    const at = policy?.quorumAt(cosignaturesIn(note, policy));
    if (at === undefined) return;
    for (const last of this.#lastRuns.values()) {
      if (last.index + 1 + last.run.results <= size) last.witnessedAt ??= at;
    }
  }

  #addSignal(index: number, leaf: LeafOf<"signal">): void {
    this.#signals += 1;
    const { factors, scoreRaw } = leaf;
    if (typeof factors === "string" && typeof scoreRaw === "number") {
      this.#recent.push({ index, factors, scoreRaw });
      if (this.#recent.length > RECENT) this.#recent.shift();
    }
    this.#try("runs", index, () => this.#place(leaf));
    this.#try("settlements", index, () => this.#settlements.addStatement(leaf));
    this.#try("thresholds", index, () => {
      const assetClass = this.#open?.run.assetClass;
      const thresholds = assetClass && this.#method?.settings.signal.thresholds[assetClass];
      const { signal, scoreSmoothed: score } = leaf;
      if (signal !== "WAIT" && signal !== undefined && (scoreRaw === null || score === null)) {
        throw new CheckFailure(`says ${signal} without a score`);
      }
      if (typeof score !== "number" || thresholds === undefined) return;
      const { exitLong, exitShort } = thresholds;
      const isWrong =
        (signal === "LONG" && score < exitLong - ROUNDING) ||
        (signal === "SHORT" && score > exitShort + ROUNDING);
      if (isWrong) throw new CheckFailure(`says ${signal} at a smoothed score of ${score}`);
    });
  }

  #place({ run, close, symbol }: LeafOf<"signal">): void {
    const open = this.#open;
    // The first stored results may belong to a run that the log no longer stores.
    if (open === undefined && run < this.#skipped) return;
    if (open === undefined || open.results >= open.run.results) {
      throw new CheckFailure("is a result that no run announces");
    }
    const expected = open.symbols?.[open.results];
    open.results += 1;
    const place = `instrument ${open.results} of its universe`;
    if (run !== open.index || close !== open.run.close) {
      throw new CheckFailure(`is of another run than the one at ${open.index}`);
    }
    if (open.symbols === undefined || symbol === expected) return;
    if (open.symbols.includes(symbol)) {
      throw new CheckFailure(`is a run without the result of ${place}`, open.index);
    }
    throw new CheckFailure(`is not of ${place}`);
  }

  /**
   * Ends the open run.
   *
   * @throws {CheckFailure} If results of the run are missing.
   */
  #endRun(): void {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined || open.results === open.run.results) return;
    const missing = open.symbols?.[open.results] ?? "an instrument";
    throw new CheckFailure(`is a run without the result of ${missing}`, open.index);
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
