import type { TrackRecordTerms } from "../../grading/track-record.ts";
import { CheckFailure, failedCheck, type VerificationCheck } from "../../tree/check.ts";
import type { Hash } from "../../tree/merkle.ts";
import type { RegisteredClaim } from "../log-state.ts";
import { ClaimVerifier, checkDeparture } from "./claim-verifier.ts";
import { type LeafOf, parseLeaf } from "./read-leaf.ts";
import { RunVerifier } from "./run-verifier.ts";
import type { CommittedSignal } from "./score-check.ts";
import { SessionGaps } from "./session-gaps.ts";
import { type LoggedSettlement, SettlementVerifier } from "./settlement-verifier.ts";
import { type TimeEvidence, TimeVerifier } from "./time-verifier.ts";
import type { VerifiedTrackRecord } from "./verified-records.ts";

/** Number of newest signals that are remembered for opening their factors. */
const RECENT = 256;

/** Maximum rounding error of a published score: half a unit in its last digit. */
const ROUNDING = 0.005;

/** Options of `EntryVerifier`. */
interface EntryVerifierOptions extends TimeEvidence {
  /** Called with every complete settlement. */
  readonly onSettled?: ((settlement: LoggedSettlement) => void) | undefined;
}

/**
 * Reads the entries of a log in order and checks them against each other: methods precede their
 * use, every run has all its results and outcomes, times never decrease. Each check stops at its
 * first failure.
 */
export class EntryVerifier {
  readonly #failures = new Map<string, VerificationCheck>();
  readonly #runs = new RunVerifier();
  readonly #times: TimeVerifier;
  readonly #gaps = new SessionGaps();
  readonly #settlements: SettlementVerifier;
  readonly #claims = new ClaimVerifier();
  #method: LeafOf<"method"> | undefined;
  #replaces: string | undefined;
  #entries = 0;
  #signals = 0;
  readonly #recent: CommittedSignal[] = [];
  #unknown = 0;
  /** Entries before this index are no longer stored; their content is unknown. */
  #skipped = 0;

  constructor({ onSettled, ...evidence }: EntryVerifierOptions) {
    this.#times = new TimeVerifier(evidence);
    this.#settlements = new SettlementVerifier(onSettled);
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
    if (leaf.kind !== "signal") this.#try("runs", index, () => this.#runs.endRun());
    if (leaf.kind !== "signal" && leaf.kind !== "outcome") {
      this.#times.addRoot(index, rootBefore());
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
        this.#try("anchors", index, () => this.#times.addAnchor(leaf, this.#skipped));
        break;
      case "universe":
        this.#try("runs", index, () => this.#runs.addUniverse(index, leaf, this.#skipped));
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
    this.#try("times", index, () => this.#times.addTime(index, leaf.at));
    this.#try("settlements", index, () =>
      this.#settlements.addSettlement(index, leaf, this.#skipped),
    );
  }

  /** The checks of all added entries. */
  checks(): readonly VerificationCheck[] {
    this.#try("runs", this.#entries, () => this.#runs.endRun());
    this.#try("settlements", this.#entries, () => this.#settlements.endSettlement());
    const [{ runs }, signals] = [this.#runs, this.#signals];
    const isWhole = this.#unknown + this.#skipped === 0;
    const unknown = `of ${this.#entries}, the first ${this.#skipped} are not kept, and ${this.#unknown} of kinds that this program does not know`;
    return [
      this.#check("entries", isWhole, isWhole ? `all ${this.#entries} are canonical` : unknown),
      this.#check("methods", true, "every run names the method that was logged before it"),
      this.#check("runs", true, `all ${runs} have exactly the results that they announce`),
      this.#check("thresholds", true, `none of ${signals} signals contradicts its smoothed score`),
      ...this.#claimCheck(),
      ...this.#anchorCheck(),
      this.#failures.get("times") ?? this.#times.check(this.#method?.market, runs),
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
    const { anchors } = this.#times;
    if (anchors === 0) return [];
    return [this.#check("anchors", true, `all ${anchors} name trees that this log had`)];
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

  #addRun(index: number, run: LeafOf<"run">): void {
    this.#try("methods", index, () => {
      if (this.#method === undefined && this.#skipped > 0) return;
      if (run.methodHash === this.#method?.methodHash) return;
      throw new CheckFailure("uses a method that was not logged before");
    });
    this.#try("runs", index, () => this.#runs.addRun(index, run, this.#skipped));
    this.#try("claims", index, () => {
      if (this.#method !== undefined) this.#claims.addRun(run, this.#method);
    });
    this.#try("times", index, () => this.#times.addTime(index, run.at));
    this.#times.addRun(index, run);
    this.#gaps.add(run.assetClass, run.close);
    this.#try("settlements", index, () => this.#settlements.addRun(index, run));
  }

  #addSignal(index: number, leaf: LeafOf<"signal">): void {
    this.#signals += 1;
    const { factors, scoreRaw } = leaf;
    if (typeof factors === "string" && typeof scoreRaw === "number") {
      this.#recent.push({ index, factors, scoreRaw });
      if (this.#recent.length > RECENT) this.#recent.shift();
    }
    this.#try("runs", index, () => this.#runs.addSignal(leaf, this.#skipped));
    this.#try("settlements", index, () => this.#settlements.addStatement(leaf));
    const assetClass = this.#runs.openClass;
    const thresholds = assetClass && this.#method?.settings.signal.thresholds[assetClass];
    this.#try("thresholds", index, () => checkThresholds(leaf, thresholds));
  }
}

/**
 * Checks that a signal does not contradict its smoothed score.
 *
 * @param thresholds Those of its asset class; `undefined` if the log no longer stores its method.
 * @throws {CheckFailure} If it does.
 */
function checkThresholds(
  { signal, scoreRaw, scoreSmoothed: score }: LeafOf<"signal">,
  thresholds: { readonly exitLong: number; readonly exitShort: number } | undefined,
): void {
  if (signal !== "WAIT" && signal !== undefined && (scoreRaw === null || score === null)) {
    throw new CheckFailure(`says ${signal} without a score`);
  }
  if (typeof score !== "number" || thresholds === undefined) return;
  const { exitLong, exitShort } = thresholds;
  const isWrong =
    (signal === "LONG" && score < exitLong - ROUNDING) ||
    (signal === "SHORT" && score > exitShort + ROUNDING);
  if (isWrong) throw new CheckFailure(`says ${signal} at a smoothed score of ${score}`);
}
