import type { StoreGate } from "./gate.ts";
import { isSqliteError } from "./sqlite-errors.ts";

/**
 * Atomic work.
 *
 * @returns `false` to roll it back.
 */
export type UnitOfWork<T> = () => T;

/** Runs the units of work of a batch together. */
export interface BatchTransaction {
  /**
   * Runs units of work in one transaction: durable when this returns, rolled back when it throws.
   */
  transaction<T>(works: () => T): T;
  /**
   * Runs a part of the transaction, which must leave nothing behind if it throws or returns `false`.
   *
   * @throws {PartialWrite} If something would remain, so the transaction must be rolled back.
   */
  part<T>(work: UnitOfWork<T>): T;
  /**
   * Like `part`, under a savepoint, so that the part alone can be rolled back. A savepoint copies each
   * page that the part changes.
   */
  undoablePart<T>(work: UnitOfWork<T>): T;
}

/** A part of a transaction failed after it had written. */
export class PartialWrite extends Error {}

/** Maximum units of work per transaction: about 10 ms. */
const BATCH_WORKS = 500;

/**
 * Maximum turns of the event loop for which a transaction waits for more work, as long as each turn
 * brings some: a disk sync takes as long as several requests, for one unit of work as for fifty.
 */
const GATHERING_TURNS = 2;

interface Waiting {
  readonly work: UnitOfWork<unknown>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Reports the result of a piece of work to its caller. */
type Answer = () => void;

/** Runs units of work in order, many per transaction. */
export class GroupCommit {
  readonly #transactions: BatchTransaction;
  readonly #gate: StoreGate;
  #queue: Waiting[] = [];
  #isPlanned = false;

  constructor(transactions: BatchTransaction, gate: StoreGate) {
    this.#transactions = transactions;
    this.#gate = gate;
  }

  /** Resolves when what the work wrote is on disk and readable. */
  add<T>(work: UnitOfWork<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ work, resolve: resolve as Waiting["resolve"], reject });
      this.#plan();
    });
  }

  /** Runs all pending work immediately. */
  drain(): void {
    while (this.#queue.length > 0) this.#commitSome();
  }

  #plan(): void {
    if (this.#isPlanned || this.#queue.length === 0) return;
    this.#isPlanned = true;
    setImmediate(() => this.#gather(0, 0));
  }

  /** @param seen Units of work that were pending one turn before. */
  #gather(seen: number, turns: number): void {
    const waiting = this.#queue.length;
    if (waiting > seen && waiting < BATCH_WORKS && turns < GATHERING_TURNS) {
      setImmediate(() => this.#gather(waiting, turns + 1));
      return;
    }
    this.#isPlanned = false;
    this.#commitSome();
    this.#plan();
  }

  #commitSome(): void {
    this.#commit(this.#queue.splice(0, BATCH_WORKS));
  }

  /**
   * A unit of work that cannot be written must not fail the others: each half of a failed batch is
   * retried alone.
   */
  #commit(batch: readonly Waiting[]): void {
    try {
      for (const answer of this.#write(batch)) answer();
    } catch (error) {
      const refusal = this.#gate.refusal(error);
      if (batch.length > 1) {
        const middle = batch.length >> 1;
        this.#commit(batch.slice(0, middle));
        this.#commit(batch.slice(middle));
      } else {
        for (const { reject } of batch) reject(refusal);
      }
    }
  }

  /** Work rarely fails after it has written, so savepoints are used only on a retry. */
  #write(batch: readonly Waiting[]): readonly Answer[] {
    this.#gate.checkWritable();
    const transactions = this.#transactions;
    try {
      return transactions.transaction(() =>
        batch.map((each) => answerTo(each, () => transactions.part(each.work))),
      );
    } catch (error) {
      if (!(error instanceof PartialWrite)) throw error;
      return transactions.transaction(() =>
        batch.map((each) => answerTo(each, () => transactions.undoablePart(each.work))),
      );
    }
  }
}

/** Runs a unit of work. One that throws has changed nothing, and the others continue. */
function answerTo({ resolve, reject }: Waiting, perform: () => unknown): Answer {
  try {
    const result = perform();
    return () => resolve(result);
  } catch (error) {
    if (isSqliteError(error) || error instanceof PartialWrite) throw error;
    return () => reject(error);
  }
}
