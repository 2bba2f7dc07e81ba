import { Problem } from "../../problem.ts";

/** Seconds after which a caller may try again. */
const RETRY_AFTER_SECONDS = 1;

/**
 * The problem of every store operation that could not be done, or of which nobody knows.
 *
 * @param detail What a stranger may know; the cause belongs in the log.
 * @param cause The error of the engine.
 */
export function storeUnavailable(detail: string, cause?: unknown): Problem {
  const headers = { "retry-after": String(RETRY_AFTER_SECONDS) };
  const problem = new Problem("store_unavailable", {
    detail,
    next: "Try again in a moment.",
    headers,
  });
  problem.cause = cause;
  return problem;
}
