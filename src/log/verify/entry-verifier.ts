import type { RecordTerms } from "../../grading/track-record.ts";
import type { AssetClass } from "../../market/instrument.ts";
import { parseCheckpoint, type SignedCheckpoint } from "../checkpoint.ts";
import type { Hash } from "../merkle.ts";
import type { Note } from "../signed-note.ts";
import { type Cosignature, cosignaturesOf } from "../witness/cosignature.ts";
import type { Policy } from "../witness/policy.ts";
import { type Check, CheckFailure, failedCheck } from "./check.ts";
import type { Sighting } from "./known-log.ts";
import { type LeafOf, readLeaf } from "./read-leaf.ts";
import type { CommittedSignal } from "./score-check.ts";
import { SessionGaps } from "./session-gaps.ts";
import {
  type LoggedSettlement,
  SettlementVerifier,
  type VerifiedRecord,
} from "./settlement-verifier.ts";

/** Difference that clocks may have, in milliseconds. */
const CLOCK_TOLERANCE_MS = 300_000;

/** A time shorter than that between two closes of any market, in milliseconds; the shortest is 21
 *  hours, before a half day. */
const SHORTEST_SESSION_MS = 20 * 3_600_000;

/** Number of newest signals that are kept to be opened. */
const RECENT = 256;

/** Half of the last digit of a published score. */
const ROUNDING = 0.005;

/** The instruments of a class as they were logged last. */
interface Covered {
  readonly index: number;
  readonly parts: number;
  read: number;
  readonly symbols: string[];
}

/** A run whose results follow. */
interface CheckedRun {
  readonly index: number;
  readonly run: LeafOf<"run">;
  /** `undefined` if the log no longer keeps their universe. */
  readonly symbols: readonly string[] | undefined;
  results: number;
  /** When witnesses had seen the whole run, according to an entry; Unix milliseconds. */
  witnessedAt: number | undefined;
}

/** What entries are compared with. */
export interface EntryVerifierOptions {
  /** Name of the log. */
  readonly origin: string;
  /** Earlier observations of the log, in order of size. */
  readonly sightings: readonly Sighting[];
  /** Policy whose witnesses date the anchors; without it, anchors prove no time. */
  readonly policy?: Policy | undefined;
  /** Called with every complete settlement. */
  readonly onSettled?: ((settlement: LoggedSettlement) => void) | undefined;
}

/**
 * Reads the entries of a log in their order and checks them against each other: methods before their
 * use, every run with all its results and outcomes, times that only advance. Each check stops at
 * its first failure.
 */
export class EntryVerifier {
  readonly #options: EntryVerifierOptions;
  /** Roots of the tree before each entry that follows a complete run, in base64. */
  readonly #roots = new Map<number, string>();
  readonly #failures = new Map<string, Check>();
  readonly #universes = new Map<AssetClass, Covered>();
  readonly #lastRuns = new Map<AssetClass, CheckedRun>();
  readonly #gaps = new SessionGaps();
  readonly #settlements: SettlementVerifier;
  #method: LeafOf<"method"> | undefined;
  #open: CheckedRun | undefined;
  #lastAt = Number.NEGATIVE_INFINITY;
  #entries = 0;
  #runs = 0;
  #signals = 0;
  readonly #recent: CommittedSignal[] = [];
  #anchors = 0;
  #unknown = 0;
  /** Entries before this index are no longer kept; their content is unknown. */
  #skipped = 0;
  /** Number of runs that an earlier observation proves to be older than the next close. */
  #provedRuns = 0;

  constructor(options: EntryVerifierOptions) {
    this.#options = options;
    this.#settlements = new SettlementVerifier(options.onSettled);
  }

  /**
   * Checks the next entry.
   *
   * @param text `undefined` if the log no longer keeps it. @param rootBefore The root of the tree
   *   before it.
   */
  add(text: string | undefined, rootBefore: () => Hash): void {
    const index = this.#entries;
    this.#entries += 1;
    if (text === undefined) {
      this.#skipped = this.#entries;
      return;
    }
    const leaf = this.#try("entries", index, () => readLeaf(text));
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

  #addLeaf(index: number, leaf: ReturnType<typeof readLeaf>): void {
    switch (leaf.kind) {
      case "method":
        this.#method = leaf;
        this.#settlements.setMethod(leaf);
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
  checks(): readonly Check[] {
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
      ...this.#anchorCheck(),
      this.#times(),
      this.#gaps.check(this.#method?.market !== "sandbox"),
      this.#failures.get("settlements") ?? this.#settlements.check(),
    ];
  }

  /** Number of signals. */
  get signals(): number {
    return this.#signals;
  }

  /** The newest signals that commit to factors, oldest first. */
  get recentSignals(): readonly CommittedSignal[] {
    return this.#recent;
  }

  /** Number of the first entries that the log no longer keeps. */
  get skipped(): number {
    return this.#skipped;
  }

  /** The terms by which the log is graded; `undefined` if no method registers any. */
  get terms(): RecordTerms | undefined {
    return this.#settlements.terms;
  }

  /** The track record of each class and horizon, from the first `size` entries. */
  records(size: number): readonly VerifiedRecord[] {
    return this.#settlements.records(size);
  }

  #anchorCheck(): readonly Check[] {
    if (this.#anchors === 0) return [];
    const detail = `all ${this.#anchors} name trees that this log had`;
    return [this.#check("anchors", true, detail)];
  }

  #times(): Check {
    const { market } = this.#method ?? {};
    const isSimulated = market === "sandbox" || market === "replay";
    // The close after the last run of a class is not known yet.
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

  #check(name: string, isProved: boolean, detail: string): Check {
    const outcome = isProved ? "proved" : "not_proved";
    return this.#failures.get(name) ?? { name, outcome, detail };
  }

  /** Records a failure under the name of its check. */
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

  /** Whether a run is proved to be older than the next close, because all of it was seen before
   *  that close. */
  #isSeenBefore({ index, run, witnessedAt }: CheckedRun, nextClose: number): boolean {
    const end = index + 1 + run.results;
    const seen = this.#options.sightings.find(({ size }) => size >= end);
    return [witnessedAt, seen?.seenAt].some((at) => at !== undefined && at < nextClose);
  }

  /** An anchor dates the runs before it by the cosignatures that it holds. */
  #addAnchor({ checkpoint: text }: LeafOf<"anchor">): void {
    this.#anchors += 1;
    const { origin, policy } = this.#options;
    const { size, root, note, origin: named } = checkpointIn(text);
    const found = this.#roots.get(size);
    if (named !== origin) throw new CheckFailure(`anchors another log, ${named}`);
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
    if (typeof factors === "string" && scoreRaw !== undefined) {
      this.#recent.push({ index, factors, scoreRaw });
      if (this.#recent.length > RECENT) this.#recent.shift();
    }
    this.#try("runs", index, () => this.#place(leaf));
    this.#try("settlements", index, () => this.#settlements.addStatement(leaf));
    this.#try("thresholds", index, () => {
      const { exitLong, exitShort } = this.#method?.settings.signal.thresholds ?? {};
      const { signal, scoreSmoothed: score } = leaf;
      if (score === undefined || exitLong === undefined || exitShort === undefined) return;
      const isWrong =
        (signal === "LONG" && score < exitLong - ROUNDING) ||
        (signal === "SHORT" && score > exitShort + ROUNDING);
      if (isWrong) throw new CheckFailure(`says ${signal} at a smoothed score of ${score}`);
    });
  }

  #place({ run, close, symbol }: LeafOf<"signal">): void {
    const open = this.#open;
    // The first results may belong to a run that the log no longer keeps.
    if (open === undefined && run < this.#skipped) return;
    if (open === undefined || open.results >= open.run.results) {
      throw new CheckFailure("is a result that no run announces");
    }
    const expected = open.symbols?.[open.results];
    open.results += 1;
    if (run !== open.index || close !== open.run.close) {
      throw new CheckFailure(`is of another run than the one at ${open.index}`);
    }
    if (open.symbols === undefined || symbol === expected) return;
    if (open.symbols.includes(symbol)) {
      throw new CheckFailure(`is a run without the result of ${expected}`, open.index);
    }
    throw new CheckFailure(`is of ${symbol} in place of ${expected}`);
  }

  /** @throws {CheckFailure} If results of the last run are missing. */
  #endRun(): void {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined || open.results === open.run.results) return;
    const missing = open.symbols?.[open.results] ?? "an instrument";
    throw new CheckFailure(`is a run without the result of ${missing}`, open.index);
  }
}

/** @throws {CheckFailure} If the text is not a checkpoint. */
function checkpointIn(text: string): SignedCheckpoint {
  try {
    return parseCheckpoint(text);
  } catch (error) {
    throw new CheckFailure(`anchors no checkpoint: ${(error as Error).message}`);
  }
}

/** @throws {CheckFailure} If the signature of a witness is wrong. */
function cosignaturesIn(note: Note, { verifiers }: Policy): readonly Cosignature[] {
  try {
    return cosignaturesOf(note, verifiers);
  } catch (error) {
    throw new CheckFailure(`is an anchor of which ${(error as Error).message}`);
  }
}
