import type { Problem } from "../../problem.ts";
import { storeUnavailable } from "../port/unavailable.ts";
import { isUncertain, refusalOf } from "./errors.ts";

/** Tells the operator; the cause is for the log. */
export type OnWarning = (message: string, cause?: unknown) => void;

/** Decides whether the store may be read and written now. */
export class Gate {
  readonly #freezes = new Set<Problem>();
  readonly #onWarning: OnWarning;
  readonly #undo: () => void;
  #isClosed = false;
  #hasFailed = false;

  /** @param undo Takes off the disk what was refused because the disk failed. */
  constructor(onWarning: OnWarning, undo: () => void) {
    this.#onWarning = onWarning;
    this.#undo = undo;
  }

  /** @throws {Problem} When the store is closed. */
  checkReadable(): void {
    if (this.#isClosed) throw storeUnavailable("The store is closed.");
  }

  /** @throws {Problem} When nothing may be written. */
  checkWritable(): void {
    this.checkReadable();
    for (const { detail } of this.#freezes) throw storeUnavailable(detail);
  }

  /** Refuses writes, for a reason that a stranger may know. @returns Allows them again. */
  freeze(reason: string): () => void {
    const problem = storeUnavailable(reason);
    this.#freezes.add(problem);
    return () => void this.#freezes.delete(problem);
  }

  /** Refuses reads and writes from now on. */
  close(): void {
    this.#isClosed = true;
  }

  /** Asks the file. @throws {Problem} When the store is closed or the file did not answer. */
  answer<T>(work: () => T): T {
    this.checkReadable();
    try {
      return work();
    } catch (error) {
      throw this.refusal(error);
    }
  }

  /** The error for the caller. When it leaves uncertain what is on disk, nothing is written
   *  until the file was opened anew. */
  refusal(error: unknown): unknown {
    if (isUncertain(error) && !this.#hasFailed) {
      this.#hasFailed = true;
      this.freeze("The disk of the store failed; it waits for a restart.");
      this.#onWarning("The disk failed; nothing is written until the service is restarted.", error);
      this.#undoOrWarn();
    }
    return refusalOf(error);
  }

  #undoOrWarn(): void {
    try {
      this.#undo();
    } catch (error) {
      this.#onWarning("What was refused as the disk failed may be there after the restart.", error);
    }
  }
}
