import type { TrackRecordTerms } from "../../grading/track-record.ts";
import type { AssetClass } from "../../market/instrument.ts";
import { CheckFailure, type VerificationCheck } from "../../tree/check.ts";
import { exclusionOutcomeOf, gradeSettlement, type LoggedStatement } from "../graded-settlement.ts";
import type { SettlementOutcome } from "../leaves.ts";
import {
  lookedAtAgainAfter,
  MAX_PRICE_WAIT_SESSIONS,
  settledAfter,
} from "../settlement-schedule.ts";
import { CLOCK_TOLERANCE_MS } from "./clock-tolerance.ts";
import { checkForecast } from "./forecast-check.ts";
import type { LeafOf } from "./read-leaf.ts";
import { sessionsBetweenCloses } from "./session-gaps.ts";
import { VerifiedRecords, type VerifiedTrackRecord } from "./verified-records.ts";

/** A logged statement with the symbol of its instrument. */
interface Statement extends LoggedStatement {
  readonly symbol: string;
}

/** A run and the state of its settlements. */
interface RunToSettle {
  readonly index: number;
  readonly run: LeafOf<"run">;
  /** Index among the runs of the asset class. */
  readonly place: number;
  /**
   * The last method before the run, by which it is graded; `undefined` if the log no longer stores
   * it.
   */
  readonly method: LeafOf<"method"> | undefined;
  /** Whether the first known method registers horizons for the asset class. */
  readonly isJudged: boolean;
  /** Horizons that are not settled yet, in sessions, shortest first. */
  horizons: readonly number[];
  /** Statements of the run; emptied when its settlements can no longer be corrected. */
  statements: Statement[];
  /**
   * Settlements that can be corrected, by the index of their leaf, each with its horizon and its
   * index among the graded runs of that horizon. A corrected settlement is removed.
   */
  readonly settled: Map<number, { readonly horizon: number; readonly graded: number }>;
  /** When the run was covered, as its first settlement states; Unix milliseconds. */
  coveredAt: number | undefined;
}

/** A settlement and its outcomes read so far. */
interface OpenSettlement {
  readonly index: number;
  readonly leaf: LeafOf<"settlement">;
  readonly of: RunToSettle;
  readonly outcomes: SettlementOutcome[];
}

/** A settlement with all its outcomes, to be compared with prices. */
export interface LoggedSettlement {
  readonly index: number;
  readonly leaf: LeafOf<"settlement">;
  readonly statements: readonly Statement[];
  readonly outcomes: readonly SettlementOutcome[];
  /** Close of the newest run of the class at the time of the settlement, Unix milliseconds. */
  readonly knownUntil: number;
}

/**
 * Checks that every run is settled over every horizon that the first method registered, once and in
 * time, with one outcome for each of its results, and grades the settled runs.
 */
export class SettlementVerifier {
  readonly #runs = new Map<number, RunToSettle>();
  /** Closes of the runs of each class, oldest first. */
  readonly #closes = new Map<AssetClass, number[]>();
  /** By asset class: the runs that are not yet settled over every horizon, oldest first. */
  readonly #waiting = new Map<AssetClass, RunToSettle[]>();
  /** By asset class: the runs whose settlements can still be corrected, oldest first. */
  readonly #correctable = new Map<AssetClass, RunToSettle[]>();
  readonly #records = new VerifiedRecords();
  readonly #onSettled: ((settlement: LoggedSettlement) => void) | undefined;
  #method: LeafOf<"method"> | undefined;
  /** Terms that the first method registers, before the first statement. */
  #terms: TrackRecordTerms | undefined;
  #last: RunToSettle | undefined;
  #open: OpenSettlement | undefined;
  #settlements = 0;
  #corrections = 0;
  /** Number of settlements whose entry or exit is a session without a run. */
  #unknownSessions = 0;
  /**
   * Number of runs that cannot be checked, since no known method registers horizons for their
   * class.
   */
  #unjudged = 0;
  /**
   * Leaf index of the last settlement that is not checked, because its run is unknown or cannot be
   * checked.
   */
  #passed: number | undefined;

  /** @param onSettled Called with every complete settlement. */
  constructor(onSettled: ((settlement: LoggedSettlement) => void) | undefined) {
    this.#onSettled = onSettled;
  }

  setMethod(method: LeafOf<"method">): void {
    this.#method = method;
    this.#terms ??= method.record;
  }

  /**
   * Adds a run.
   *
   * @throws {CheckFailure} If an earlier run is overdue for settlement.
   */
  addRun(index: number, run: LeafOf<"run">): void {
    const { assetClass } = run;
    const closes = this.#closes.get(assetClass) ?? [];
    const waiting = this.#waiting.get(assetClass) ?? [];
    const overdue = waiting.find(
      (one) => this.#laterThan(one) >= dueAfter(one) + MAX_PRICE_WAIT_SESSIONS,
    );
    const method = this.#method;
    // The horizons that the first method registers apply: a later method cannot drop a horizon
    // whose outcomes look bad.
    const horizons = this.#terms?.horizons[assetClass] ?? [];
    const isJudged = horizons.length > 0;
    const added = { index, run, place: closes.length, method, horizons, isJudged };
    this.#last = { ...added, statements: [], coveredAt: undefined, settled: new Map() };
    this.#runs.set(index, this.#last);
    closes.push(run.close);
    this.#closes.set(assetClass, closes);
    this.#letGo(assetClass);
    if (!isJudged) this.#unjudged += 1;
    else this.#waiting.set(assetClass, [...waiting.filter((one) => one !== overdue), this.#last]);
    if (overdue === undefined) return;
    const [horizon] = overdue.horizons;
    const wrong = `is a run that was not settled over ${horizon} sessions`;
    throw new CheckFailure(wrong, overdue.index);
  }

  /**
   * Adds a statement to the last run.
   *
   * @throws {CheckFailure} If its forecasts do not match the horizons of its method.
   */
  addStatement(leaf: LeafOf<"signal">): void {
    const { symbol, status, signal, scoreRaw, coverage, sigmas, sector } = leaf;
    const of = this.#last;
    if (of === undefined || of.horizons.length === 0) return;
    const { percentiles, candidates } = leaf.v === 3 ? leaf : {};
    of.statements.push({
      symbol,
      status,
      signal,
      scoreRaw,
      coverage,
      sigmas,
      sector,
      percentiles,
      candidates,
    });
    const tables = of.method?.risk[of.run.assetClass];
    if (tables === undefined || status === "failed") return;
    if (sigmas === undefined) throw new CheckFailure("does not say what it forecasts");
    if (sigmas !== null) checkForecast(sigmas, tables);
  }

  /**
   * Begins a settlement.
   *
   * @param skipped Entries before this index are no longer stored.
   * @throws {CheckFailure} If its run, horizon, times or sessions are wrong.
   */
  addSettlement(index: number, leaf: LeafOf<"settlement">, skipped: number): void {
    const of = this.#runs.get(leaf.run);
    if (of === undefined && leaf.run >= skipped) {
      throw new CheckFailure(`settles ${leaf.run}, which is no run`);
    }
    if (of === undefined || !of.isJudged) {
      this.#passed = index;
      return;
    }
    this.#open = { index, leaf, of, outcomes: [] };
    if (leaf.corrects === undefined) {
      this.#settlements += 1;
      this.#checkRun(leaf, of);
    } else {
      this.#corrections += 1;
      this.#checkCorrection(leaf, of);
    }
    this.#checkTimes(leaf, of);
    if (leaf.corrects === undefined) of.horizons = of.horizons.slice(1);
    of.coveredAt = leaf.coveredAt;
    if (leaf.results === 0) this.#complete(this.#open);
  }

  #checkRun(leaf: LeafOf<"settlement">, { index, run, horizons }: RunToSettle): void {
    const { assetClass, horizon } = leaf;
    checkIsOf(leaf, { index, run });
    if (horizon === horizons[0]) return;
    const registered = this.#terms?.horizons[assetClass] ?? [];
    throw new CheckFailure(
      registered.includes(horizon)
        ? `settles run ${index} over ${horizon} sessions twice, or before a shorter horizon`
        : `settles run ${index} over ${horizon} sessions, which the first method does not register`,
    );
  }

  #checkCorrection(leaf: LeafOf<"settlement">, of: RunToSettle): void {
    const { corrects = -1, entry, horizon } = leaf;
    checkIsOf(leaf, of);
    if (of.settled.get(corrects)?.horizon !== horizon) {
      throw new CheckFailure(
        `corrects ${corrects}, which is no settlement of run ${of.index} over ${horizon} sessions that can be corrected`,
      );
    }
    // A correction before the registered session is refused: otherwise the operator of the log
    // could choose the day of a correction, and so remove unwelcome outcomes.
    if (this.#laterThan(of) < this.#correctedAfter(of)) {
      throw new CheckFailure(`corrects ${corrects} before it is looked at again`);
    }
    if (entry === null) throw new CheckFailure(`corrects ${corrects} without prices`);
  }

  #checkTimes(leaf: LeafOf<"settlement">, of: RunToSettle): void {
    if (this.#laterThan(of) < settledAfter(leaf.horizon)) {
      throw new CheckFailure(`settles run ${of.index} before its sessions have closed`);
    }
    if (!this.#canBeCovered(leaf, of)) {
      throw new CheckFailure(`names a time at which run ${of.index} cannot have been covered`);
    }
    this.#checkSessions(leaf, of);
  }

  #canBeCovered({ coveredAt, close, at }: LeafOf<"settlement">, of: RunToSettle): boolean {
    if (of.coveredAt !== undefined && of.coveredAt !== coveredAt) return false;
    // Outside the live market, the market's clock differs from the clock of the log.
    if (of.method?.market !== "live") return coveredAt >= close;
    const isAfterRun = coveredAt >= of.run.at - CLOCK_TOLERANCE_MS;
    return isAfterRun && coveredAt >= close && coveredAt <= at + CLOCK_TOLERANCE_MS;
  }

  #checkSessions(
    { close, horizon, entry, exit, assetClass }: LeafOf<"settlement">,
    of: RunToSettle,
  ) {
    if (entry === null && exit === null) return;
    const closes = this.#closes.get(assetClass) ?? [];
    const [first = 0, last = 0] = [closes[of.place + 1], closes[of.place + 1 + horizon]];
    if (entry === first && exit === last) return;
    const isOrdered = entry !== null && exit !== null && close <= entry && entry <= exit;
    const isWithin = isOrdered && entry <= first && exit <= last;
    if (!isWithin || (this.#hasCalendar && sessionsWithoutRun(closes, of, horizon) === 0)) {
      throw new CheckFailure(
        `measures returns between other sessions than those after ${of.index}`,
      );
    }
    this.#unknownSessions += 1;
  }

  get #hasCalendar(): boolean {
    return this.#method?.market !== "sandbox";
  }

  /**
   * Adds an outcome to the open settlement.
   *
   * @param skipped Entries before this index are no longer stored.
   * @throws {CheckFailure} If the outcome does not belong there, or contradicts its statement.
   */
  addOutcome(leaf: LeafOf<"outcome">, skipped: number): void {
    const open = this.#open;
    // The first stored outcomes may belong to a settlement that the log no longer stores.
    const isPassed = leaf.settlement < skipped || leaf.settlement === this.#passed;
    if (open === undefined && isPassed) return;
    if (open === undefined || open.outcomes.length >= open.leaf.results) {
      throw new CheckFailure("is an outcome that no settlement announces");
    }
    const { index, of, outcomes } = open;
    const place = outcomes.length;
    const statement = of.statements[place];
    outcomes.push(leaf);
    const isNext = leaf.signal === of.index + 1 + place && leaf.symbol === statement?.symbol;
    if (leaf.settlement !== index) {
      throw new CheckFailure(`is an outcome of another settlement than the one at ${index}`);
    }
    if (!isNext) {
      const missing = of.index + 1 + place;
      throw new CheckFailure(`is a settlement without the outcome of entry ${missing}`, index);
    }
    checkReason(leaf, open);
    if (outcomes.length === open.leaf.results) this.#complete(open);
  }

  /**
   * Ends a settlement.
   *
   * @throws {CheckFailure} If outcomes are missing.
   */
  endSettlement(): void {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined || open.outcomes.length === open.leaf.results) return;
    const missing = open.of.index + 1 + open.outcomes.length;
    throw new CheckFailure(`is a settlement without the outcome of entry ${missing}`, open.index);
  }

  #complete({ index, leaf, of, outcomes }: OpenSettlement): void {
    const { assetClass, close, coveredAt, entry, exit, horizon } = leaf;
    const tables = of.method?.risk[assetClass] ?? [];
    const terms = { close, coveredAt, entry: entry ?? undefined, exit: exit ?? undefined, horizon };
    const { statements, settled } = of;
    const { methodHash } = of.run;
    const graded = gradeSettlement(statements, outcomes, terms, tables);
    const place = this.#records.add(
      { assetClass, horizon, methodHash },
      { end: index + 1 + outcomes.length, graded },
      settled.get(leaf.corrects ?? -1)?.graded,
    );
    // A correction cannot be corrected again.
    if (leaf.corrects === undefined) settled.set(index, { horizon, graded: place });
    else settled.delete(leaf.corrects);
    const knownUntil = this.#closes.get(assetClass)?.at(-1) ?? close;
    this.#onSettled?.({ index, leaf, statements, outcomes, knownUntil });
    if (of.horizons.length > 0 || leaf.corrects !== undefined) return;
    const waiting = this.#waiting.get(assetClass) ?? [];
    this.#waiting.set(
      assetClass,
      waiting.filter((one) => one !== of),
    );
    this.#correctable.set(assetClass, [...(this.#correctable.get(assetClass) ?? []), of]);
  }

  /** Number of later runs after which the settlements of a run are checked for corrections. */
  #correctedAfter({ run }: RunToSettle): number {
    const { horizons = {}, rules = { correctedWithin: 0 } } = this.#terms ?? {};
    return lookedAtAgainAfter(horizons[run.assetClass] ?? [], rules);
  }

  /** Discards the statements of runs whose settlements can no longer be corrected. */
  #letGo(assetClass: AssetClass): void {
    const left = (this.#correctable.get(assetClass) ?? []).filter((of) => {
      if (this.#laterThan(of) <= this.#correctedAfter(of) + MAX_PRICE_WAIT_SESSIONS) return true;
      of.statements = [];
      of.settled.clear();
      return false;
    });
    this.#correctable.set(assetClass, left);
  }

  /** Number of runs of the class after the given one. */
  #laterThan({ run, place }: RunToSettle): number {
    return (this.#closes.get(run.assetClass)?.length ?? 0) - 1 - place;
  }

  /** The result of the check, provided that no settlement is wrong. */
  check(): VerificationCheck {
    const name = "settlements";
    const waiting = [...this.#waiting.values()].flat();
    const due = waiting.filter((one) => this.#laterThan(one) >= dueAfter(one)).length;
    const open = [
      ...(due > 0 ? [`${due} wait for prices`] : []),
      ...(this.#unknownSessions > 0
        ? [`${this.#unknownSessions} begin or end at sessions without a run`]
        : []),
      ...(this.#unjudged > 0
        ? [`${this.#unjudged} runs have no known method that registers any`]
        : []),
    ];
    if (this.#settlements === 0 && open.length === 0) {
      return { name, outcome: "not_proved", detail: "none is due yet" };
    }
    const corrected = this.#corrections === 0 ? "" : `; ${this.#corrections} were corrected`;
    const whole = `all ${this.#settlements} that are due have exactly the outcomes of their runs${corrected}`;
    const detail = open.length === 0 ? whole : `of ${this.#settlements}, ${open.join(", ")}`;
    return { name, outcome: open.length === 0 ? "proved" : "not_proved", detail };
  }

  /** The terms by which the log is graded; `undefined` if no method registers any. */
  get terms(): TrackRecordTerms | undefined {
    return this.#terms;
  }

  /** The track record of each class, horizon and method, computed from the first `size` entries. */
  records(size: number): readonly VerifiedTrackRecord[] {
    return this.#terms === undefined ? [] : this.#records.upTo(size, this.#terms);
  }
}

/**
 * Checks that a settlement belongs to a run.
 *
 * @throws {CheckFailure} If its class, close or number of results differs.
 */
function checkIsOf(
  { assetClass, close, results }: LeafOf<"settlement">,
  { index, run }: Pick<RunToSettle, "index" | "run">,
): void {
  if (assetClass === run.assetClass && close === run.close && results === run.results) return;
  throw new CheckFailure(`has another class, session or number of results than run ${index}`);
}

/** Number of later runs after which the next settlement of a run is due. */
const dueAfter = ({ horizons }: RunToSettle): number =>
  settledAfter(horizons[0] ?? Number.POSITIVE_INFINITY);

/**
 * Number of sessions of the calendar without a run, between a run and the run that is `horizon + 1`
 * runs later.
 */
function sessionsWithoutRun(
  closes: readonly number[],
  { run, place }: RunToSettle,
  horizon: number,
): number {
  const between = closes.slice(place, place + 2 + horizon);
  return between.reduce(
    (sum, close, at) =>
      sum + sessionsBetweenCloses(run.assetClass, between[at - 1] ?? close, close).length,
    0,
  );
}

/**
 * Checks the status of an outcome.
 *
 * @throws {CheckFailure} If the statement contradicts the reason for excluding the outcome.
 */
function checkReason({ status }: LeafOf<"outcome">, { leaf, of, outcomes }: OpenSettlement): void {
  const wanted = exclusionOutcomeOf(of.statements[outcomes.length - 1])?.status;
  const isOfStatement = status === "failed" || status === "unscored";
  const isRight =
    wanted === undefined
      ? !isOfStatement && (status !== "settled" || leaf.entry !== null)
      : status === wanted;
  if (isRight) return;
  throw new CheckFailure(`says ${status}, which the statement does not allow`);
}
