import type { StoreGate } from "./gate.ts";
import { isSqliteError } from "./sqlite-errors.ts";

/**
 * Work that is done completely or not at all.
 *
 * @returns `false` to roll it back.
 */
export type UnitOfWork<T> = () => T;

/** Runs the units of work of a batch in one transaction. */
export interface BatchTransaction {
  /**
   * Runs units of work in one transaction. The transaction is durable when this method returns, and
   * rolled back when it throws.
   */
  transaction<T>(works: () => T): T;
  /**
   * Runs one part of the transaction. A part that throws or returns `false` must leave nothing
   * written.
   *
   * @throws {PartialWriteError} If the part would leave something written, so that the whole
   * transaction must be rolled back.
   */
  part<T>(work: UnitOfWork<T>): T;
  /**
   * Like `part`, but with a savepoint, so that the part alone can be rolled back. This is slower,
   * because a savepoint copies each page that the part changes.
   */
  undoablePart<T>(work: UnitOfWork<T>): T;
}

/** A part of a transaction failed after it had written. */
export class PartialWriteError extends Error {}

/** Maximum number of units of work per transaction; together they take about 10 ms. */
const BATCH_WORKS = 500;

/**
 * Maximum number of event loop turns for which a transaction waits for more work, as long as each
 * turn adds some. A disk sync takes as long as several requests, no matter whether it covers one
 * unit of work or fifty.
 */
const GATHERING_TURNS = 2;

interface Waiting {
  readonly work: UnitOfWork<unknown>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Settles the promise of a unit of work. */
type Answer = () => void;

/** Runs units of work in order, many of them per transaction. */
export class GroupCommit {
  readonly #transactions: BatchTransaction;
  readonly #gate: StoreGate;
  #queue: Waiting[] = [];
  #isPlanned = false;

  constructor(transactions: BatchTransaction, gate: StoreGate) {
    this.#transactions = transactions;
    this.#gate = gate;
  }

  /** Queues a unit of work. Resolves when everything it wrote is on disk and readable. */
  add<T>(work: UnitOfWork<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ work, resolve: resolve as Waiting["resolve"], reject });
      this.#plan();
    });
  }

  /** Runs all queued work immediately. */
  drain(): void {
    while (this.#queue.length > 0) this.#commitSome();
  }

  #plan(): void {
    if (this.#isPlanned || this.#queue.length === 0) return;
    this.#isPlanned = true;
    setImmediate(() => this.#gather(0, 0));
  }

  /**
   * Waits for more work, or commits.
   *
   * @param seen Number of units of work that were queued one turn before.
   */
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
   * Commits a batch. If this fails, each half is retried separately, so that one unit of work that
   * cannot be written does not fail the others.
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

  /**
   * Writes a batch in one transaction. Savepoints are used only on a retry, because work rarely
   * fails after it has written something.
   */
  #write(batch: readonly Waiting[]): readonly Answer[] {
    this.#gate.checkWritable();
    const transactions = this.#transactions;
    try {
      return transactions.transaction(() =>
        batch.map((each) => answerTo(each, () => transactions.part(each.work))),
      );
    } catch (error) {
      if (!(error instanceof PartialWriteError)) throw error;
      return transactions.transaction(() =>
        batch.map((each) => answerTo(each, () => transactions.undoablePart(each.work))),
      );
    }
  }
}

/**
 * Runs a unit of work, and returns a function that settles its promise. An error of the unit itself
 * rejects only this promise: the unit has left nothing written, and the other units continue.
 *
 * @throws {Error} An SQLite error or a `PartialWriteError`, which rolls back the whole batch.
 */
function answerTo({ resolve, reject }: Waiting, perform: () => unknown): Answer {
  try {
    const result = perform();
    return () => resolve(result);
  } catch (error) {
    if (isSqliteError(error) || error instanceof PartialWriteError) throw error;
    return () => reject(error);
  }
}
