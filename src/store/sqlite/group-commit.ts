import { isSqliteError } from "./errors.ts";
import type { Gate } from "./gate.ts";

/** Work that is all or nothing. @returns `false` when nothing of it is to happen. */
export type Work<T> = () => T;

/** Where the works of a batch are done together. */
export interface Transactions {
  /** Does the works in one transaction. What they wrote is on disk when this returns, or none of it
   *  is when it throws. */
  transaction<T>(works: () => T): T;
  /** Does a part of the transaction that is all or nothing by itself: undone when it throws or
   *  returns `false`. */
  part<T>(work: Work<T>): T;
}

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

  /** What cannot be written must not fail its neighbors: each half is tried by itself. */
  #commit(batch: readonly Waiting[]): void {
    try {
      this.#gate.checkWritable();
      const answers = this.#transactions.transaction(() => batch.map((each) => this.#do(each)));
      for (const answer of answers) answer();
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

  /** A work that throws has done nothing, and its neighbors go on. */
  #do({ work, resolve, reject }: Waiting): Answer {
    try {
      const result = this.#transactions.part(work);
      return () => resolve(result);
    } catch (error) {
      if (isSqliteError(error)) throw error;
      return () => reject(error);
    }
  }
}
