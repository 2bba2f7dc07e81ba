import type { Problem } from "../../problem.ts";
import { storeUnavailable } from "../unavailable.ts";
import { isUncertain, refusalOf } from "./failure.ts";

/** Tells the operator; the cause is for the log. */
export type OnWarning = (message: string, cause?: unknown) => void;

/** Who may read and write now. */
export interface Gate {
  /** @throws {Problem} When the store is closed. */
  checkReadable(): void;
  /** @throws {Problem} When nothing may be written. */
  checkWritable(): void;
  /** Asks the files. @throws {Problem} When the files did not answer. */
  answer<T>(work: () => T): T;
  /** Lets nothing be written, for a reason that a stranger may know. @returns Ends that. */
  freeze(reason: string): () => void;
  /** Lets nothing in any more. */
  close(): void;
  /** What a caller is told of an error. When what is on disk is uncertain, nothing is written until
   *  the files were read again. */
  refusal(error: unknown): unknown;
}

/**
 * A gate that stands open.
 *
 * @param undo Takes what was refused off a disk that failed.
 */
export function createGate(onWarning: OnWarning, undo: () => void): Gate {
  const freezes = new Set<Problem>();
  let closed = false;
  let hasFailed = false;
  const freeze = (reason: string) => {
    const problem = storeUnavailable(reason);
    freezes.add(problem);
    return () => void freezes.delete(problem);
  };
  const checkReadable = (): void => {
    if (closed) throw storeUnavailable("The store is closed.");
  };
  const refusal = (error: unknown): unknown => {
    if (isUncertain(error) && !hasFailed) {
      hasFailed = true;
      freeze("The disk of the store failed; it waits for a restart.");
      onWarning("The disk failed; nothing is written until the service is restarted.", error);
      undoOrWarn(undo, onWarning);
    }
    return refusalOf(error);
  };
  return {
    checkReadable,
    checkWritable() {
      checkReadable();
      for (const { detail } of freezes) throw storeUnavailable(detail);
    },
    freeze,
    close() {
      closed = true;
    },
    refusal,
    answer(work) {
      checkReadable();
      try {
        return work();
      } catch (error) {
        throw refusal(error);
      }
    },
  };
}

function undoOrWarn(undo: () => void, onWarning: OnWarning): void {
  try {
    undo();
  } catch (error) {
    onWarning("What was refused as the disk failed may be there after the restart.", error);
  }
}
