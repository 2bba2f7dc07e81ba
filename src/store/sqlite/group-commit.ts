import { isSqliteError } from "./errors.ts";
import type { Gate } from "./gate.ts";

/** Work that is all or nothing. @returns `false` when nothing of it is to happen. */
export type Work<T> = () => T;

/** Where the works of a batch are done together. */
export interface Transactions {
  /** Does the works in one transaction. What they wrote is on disk when this returns, or none of it
   *  is when it throws. */
  transaction<T>(works: () => T): T;
  /**
   * Does a part of the transaction, of which nothing is to remain when it throws or returns `false`.
   *
   * @throws {PartialWrite} When something would remain: the transaction must be undone.
   */
  part<T>(work: Work<T>): T;
  /** Like `part`, under a savepoint, so that the part alone can be undone. A savepoint copies each page
   *  that the part changes. */
  undoablePart<T>(work: Work<T>): T;
}

/** A part of a transaction failed after it had written. */
export class PartialWrite extends Error {}

/** Most works in one transaction: about 10 ms. */
const BATCH_WORKS = 500;

/** Turns of the event loop for which a transaction waits for more works, at most, as long as each
 *  brings some: to reach the disk takes as long as several requests, for one work as for fifty. */
const GATHERING_TURNS = 2;

interface Waiting {
  readonly work: Work<unknown>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Tells one caller what came of its work. */
type Answer = () => void;

/** Does works one after the other, many in one transaction. */
export class GroupCommit {
  readonly #transactions: Transactions;
  readonly #gate: Gate;
  #queue: Waiting[] = [];
  #isPlanned = false;

  constructor(transactions: Transactions, gate: Gate) {
    this.#transactions = transactions;
    this.#gate = gate;
  }

  /** Resolves when what the work wrote is on disk and can be read. */
  add<T>(work: Work<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ work, resolve: resolve as Waiting["resolve"], reject });
      this.#plan();
    });
  }

  /** Does all that waits, now. */
  drain(): void {
    while (this.#queue.length > 0) this.#commitSome();
  }

  #plan(): void {
    if (this.#isPlanned || this.#queue.length === 0) return;
    this.#isPlanned = true;
    setImmediate(() => this.#gather(0, 0));
  }

  /** @param seen Works that had come one turn before. */
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

  /** One work that cannot be written must not fail the others: each half is tried by itself. */
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

  /** Few works fail after they have written, so savepoints are for a second try. */
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

/** Does a work. One that throws has done nothing, and the others go on. */
function answerTo({ resolve, reject }: Waiting, perform: () => unknown): Answer {
  try {
    const result = perform();
    return () => resolve(result);
  } catch (error) {
    if (isSqliteError(error) || error instanceof PartialWrite) throw error;
    return () => reject(error);
  }
}
