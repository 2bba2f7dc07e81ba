import { setTimeout as pause } from "node:timers/promises";
import { DatabaseError } from "pg";
import { Problem } from "../../lib/problem.ts";
import { storeUnavailableProblem } from "../port/unavailable.ts";
import { DEADLINE_PASSED_SQLSTATE } from "./once-sql.ts";

/** Minimum pause between attempts, in milliseconds. A random time of up to this length is added. */
const PAUSE_MS = 40;

/**
 * SQLSTATEs of transient errors: too many connections; a server that is shutting down, has crashed
 * or is starting; a read-only standby; serialization failure; deadlock; and lock not available.
 * Connection exceptions (class 08) are handled separately.
 */
const TRANSIENT_CODES = new Set([
  ...["53300", "57P01", "57P02", "57P03", "57P05", "25006"],
  ...["40001", "40P01", "55P03"],
]);

/**
 * Retries until an attempt succeeds, the server rejects it, or the time budget is spent.
 *
 * @throws {Problem} `store_unavailable`, with the last error as its cause.
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
      if (isOver || !isTransient(error)) throw unavailableProblem(error);
      await pause(pauseMs);
    }
  }
}

/** Converts an error of the driver or the database server to the problem for callers. */
export function unavailableProblem(error: unknown): Problem {
  const detail = isTransient(error)
    ? "The database does not answer."
    : "The database cannot do this now.";
  return storeUnavailableProblem(detail, error);
}

/** Whether the server rejected the work, so that no part of it was done or will be done. */
export function isRejectedByServer(error: unknown): error is Problem {
  return error instanceof Problem && !isTransient(error.cause);
}

/** Whether the server rejected the work because it had taken nearly all of its time. */
export function hasMissedDeadline({ cause }: Problem): boolean {
  return cause instanceof DatabaseError && cause.code === DEADLINE_PASSED_SQLSTATE;
}

/** Whether a retry may succeed, which is true for every error except a rejection by the server. */
function isTransient(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return true;
  const { code = "" } = error;
  return TRANSIENT_CODES.has(code) || code.startsWith("08");
}
