import type { Problem } from "../../lib/problem.ts";
import { storeUnavailableProblem } from "../port/unavailable.ts";
import { isDiskStateUnknown, sqliteErrorAsProblem } from "./sqlite-errors.ts";

/** Warns the operator. `cause` is for the log. */
export type OnWarning = (message: string, cause?: unknown) => void;

/** Controls whether a store can be read and written. */
export class StoreGate {
  readonly #freezes = new Set<Problem>();
  readonly #onWarning: OnWarning;
  readonly #undo: () => void;
  #isClosed = false;
  #hasFailed = false;

  /** @param undo Removes from disk the writes that were rejected because the disk failed. */
  constructor(onWarning: OnWarning, undo: () => void) {
    this.#onWarning = onWarning;
    this.#undo = undo;
  }

  /** Checks that reads are allowed. @throws {Problem} If the store is closed. */
  checkReadable(): void {
    if (this.#isClosed) throw storeUnavailableProblem("The store is closed.");
  }

  /**
   * Checks that writes are allowed.
   *
   * @throws {Problem} If the store is closed or writes are blocked.
   */
  checkWritable(): void {
    this.checkReadable();
    for (const { detail } of this.#freezes) throw storeUnavailableProblem(detail);
  }

  /**
   * Blocks writes. Callers get the given public reason.
   *
   * @returns A function that allows writes again.
   */
  freeze(reason: string): () => void {
    const problem = storeUnavailableProblem(reason);
    this.#freezes.add(problem);
    return () => void this.#freezes.delete(problem);
  }

  /** Blocks reads and writes from now on. */
  close(): void {
    this.#isClosed = true;
  }

  /**
   * Runs a read.
   *
   * @throws {Problem} If the store is closed or the file cannot be read.
   */
  answer<T>(work: () => T): T {
    this.checkReadable();
    try {
      return work();
    } catch (error) {
      throw this.refusal(error);
    }
  }

  /**
   * Converts an error to the error that the caller gets. If the error leaves the state on disk
   * unknown, writes are blocked until the file has been reopened.
   */
  refusal(error: unknown): unknown {
    if (isDiskStateUnknown(error) && !this.#hasFailed) {
      this.#hasFailed = true;
      this.freeze("The disk of the store failed; it waits for a restart.");
      this.#onWarning("The disk failed; nothing is written until the service is restarted.", error);
      this.#undoOrWarn();
    }
    return sqliteErrorAsProblem(error);
  }

  #undoOrWarn(): void {
    try {
      this.#undo();
    } catch (error) {
      this.#onWarning("What was refused as the disk failed may be there after the restart.", error);
    }
  }
}
