import { setTimeout as pause } from "node:timers/promises";
import { DatabaseError } from "pg";
import { Problem } from "../../problem.ts";
import { storeUnavailable } from "../port/unavailable.ts";
import { TOO_LATE } from "./once-sql.ts";

/** Pauses between two attempts, in milliseconds: this, and up to as much again. */
const PAUSE_MS = 40;

/**
 * SQLSTATEs that pass by themselves: too many connections, a server that shuts down, crashed or
 * starts up, one that is only a copy for the moment, serialization failure, deadlock, a lock
 * that was not to be had, and work that was undone because its time was over. Class 08 are connection exceptions.
 */
const TRANSIENT_CODES = new Set([
  ...["53300", "57P01", "57P02", "57P03", "57P05", "25006"],
  ...["40001", "40P01", "55P03", TOO_LATE],
]);

/**
 * Tries until it works or the budget is spent.
 *
 * @throws {Problem} `store_unavailable` with the last error as its cause.
 */
export async function retry<T>(
  attempt: (leftMs: number) => Promise<T>,
  budgetMs: number,
): Promise<T> {
  const deadline = performance.now() + budgetMs;
  for (;;) {
    try {
      return await attempt(Math.max(1, deadline - performance.now()));
    } catch (error) {
      const pauseMs = PAUSE_MS * (1 + Math.random());
      const isOver = performance.now() + pauseMs > deadline;
      if (isOver || !isTransient(error)) throw unavailable(error);
      await pause(pauseMs);
    }
  }
}

/** The problem that an error of the driver or the server is to callers. */
export function unavailable(error: unknown): Problem {
  const detail = isTransient(error)
    ? "The database does not answer."
    : "The database cannot do this now.";
  return storeUnavailable(detail, error);
}

/** Whether the server refused the work, so that nothing of it was done and nothing will be. */
export function isRefused(error: unknown): boolean {
  return error instanceof Problem && !isTransient(error.cause);
}

/** Whether the same may work in a moment; so it is with everything but a server's refusal. */
function isTransient(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return true;
  const { code = "" } = error;
  return TRANSIENT_CODES.has(code) || code.startsWith("08");
}
