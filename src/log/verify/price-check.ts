import { CheckFailure, failedCheck, type VerificationCheck } from "../../tree/check.ts";
import { exclusionOutcomeOf } from "../graded-settlement.ts";
import type { SettlementOutcome } from "../leaves.ts";
import { computeRunOutcomes, type RunOutcomes, type SettlementMarket } from "../outcomes.ts";
import type { LoggedSettlement } from "./settlement-verifier.ts";

const NAME = "outcomes";

/** Maximum difference between a logged log return and the recomputed one. */
const TOLERANCE = 1e-9;

/** Result when no prices are given: only the log itself states the returns. */
export const NO_PRICES_CHECK: VerificationCheck = {
  name: NAME,
  outcome: "not_proved",
  detail: "not recomputed: --prices names a folder of prices",
};

/** Recomputes outcomes from prices, with the function that the log uses. */
export class PriceCheck {
  readonly #market: SettlementMarket;
  readonly #symbols: ReadonlySet<string>;
  #queue: LoggedSettlement[] = [];
  #compared = 0;
  /** Number of outcomes whose sessions or instruments have no prices in this market. */
  #unknown = 0;
  #largest = 0;
  /**
   * Failures by the index of the wrong settlement; a later correction with the right figures
   * removes the failure.
   */
  readonly #failures = new Map<number, VerificationCheck>();

  constructor(market: SettlementMarket) {
    this.#market = market;
    const records = market.recordsUntil(Number.POSITIVE_INFINITY);
    this.#symbols = new Set(records.map(({ instrument }) => instrument.symbol));
  }

  /** Adds a settlement that the next call of `compare` recomputes. */
  add(settlement: LoggedSettlement): void {
    this.#queue.push(settlement);
  }

  /** Recomputes the settlements that were added since the last call. */
  async compare(): Promise<void> {
    const queue = this.#queue;
    this.#queue = [];
    for (const settlement of queue) {
      const { corrects } = settlement.leaf;
      if (corrects !== undefined) this.#failures.delete(corrects);
      try {
        await this.#recompute(settlement);
      } catch (error) {
        this.#failures.set(settlement.index, failedCheck(NAME, error));
      }
    }
  }

  async #recompute(settlement: LoggedSettlement): Promise<void> {
    const { leaf, statements, outcomes, knownUntil } = settlement;
    const { assetClass, close, horizon } = leaf;
    const symbols = statements.map(({ symbol }) => symbol);
    const run = { assetClass, close, symbols, horizon };
    const found = await computeRunOutcomes(run, this.#market, knownUntil);
    if (found === undefined) {
      this.#unknown += outcomes.length;
      return;
    }
    checkSessions(settlement, found);
    for (const [at, logged] of outcomes.entries()) {
      const recomputed =
        exclusionOutcomeOf(statements[at]) ?? (found.outcomes[at] as SettlementOutcome);
      if (this.#symbols.has(symbols[at] as string)) {
        this.#compareOne(logged, recomputed, settlement.index + 1 + at);
      } else {
        this.#unknown += 1;
      }
    }
  }

  #compareOne(logged: SettlementOutcome, recomputed: SettlementOutcome, entry: number): void {
    const difference = differenceOf(logged, recomputed);
    this.#compared += 1;
    this.#largest = Math.max(this.#largest, difference);
    if (difference <= TOLERANCE) return;
    const wrong = `entry ${entry} says ${outcomeText(logged)}, and the prices ${outcomeText(recomputed)}`;
    throw new CheckFailure(wrong, entry);
  }

  check(): VerificationCheck {
    const [failure] = this.#failures.values();
    if (failure !== undefined) return failure;
    const compared = `${this.#compared} recomputed, largest difference ${this.#largest}`;
    if (this.#unknown > 0 || this.#compared === 0) {
      const detail = `${compared}; ${this.#unknown} have no prices in the folder`;
      return { name: NAME, outcome: "not_proved", detail };
    }
    return { name: NAME, outcome: "proved", detail: `all ${compared}` };
  }
}

/**
 * Compares the sessions of a settlement with the sessions of the prices.
 *
 * @throws {CheckFailure} If the returns are measured between other sessions.
 */
function checkSessions({ index, leaf }: LoggedSettlement, { entry, exit }: RunOutcomes): void {
  if (leaf.entry === entry && leaf.exit === exit) return;
  const wrong = `entry ${index} measures returns between other sessions than those of the prices`;
  throw new CheckFailure(wrong, index);
}

/**
 * The largest difference between the figures of two outcomes; infinite if only one outcome has a
 * figure.
 */
function differenceOf(a: SettlementOutcome, b: SettlementOutcome): number {
  if (a.status !== "settled" || b.status !== "settled") {
    return a.status === b.status ? 0 : Number.POSITIVE_INFINITY;
  }
  if (a.lastPrice !== b.lastPrice || (a.fromClose === null) !== (b.fromClose === null)) {
    return Number.POSITIVE_INFINITY;
  }
  const fromClose = Math.abs((a.fromClose ?? 0) - (b.fromClose ?? 0));
  return Math.max(Math.abs(a.followed - b.followed), fromClose);
}

const outcomeText = (outcome: SettlementOutcome): string =>
  outcome.status === "settled"
    ? `${outcome.followed} from the entry, ${outcome.fromClose} from the close, last price ${outcome.lastPrice ?? "at the exit"}`
    : outcome.status;
