import { Problem } from "../../lib/problem.ts";

/** `Retry-After` in seconds. */
const RETRY_AFTER_SECONDS = 1;

/**
 * Creates the problem for a store operation that failed or whose outcome is unknown.
 *
 * @param detail Public description; the cause is only for the log.
 * @param cause The error of the storage engine.
 */
export function storeUnavailableProblem(detail: string, cause?: unknown): Problem {
  const headers = { "retry-after": String(RETRY_AFTER_SECONDS) };
  const problem = new Problem("store_unavailable", {
    detail,
    next: "Try again in a moment.",
    headers,
  });
  problem.cause = cause;
  return problem;
}

/**
 * The message of an error, for the operator. The `Problem` of a failed store operation is worded
 * for API callers, who should retry. For the operator, the message of the storage engine is added,
 * because it describes the fault.
 */
export function operatorErrorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!isStoreFault(error)) return error.message;
  const { detail, cause } = error;
  return cause instanceof Error ? `${detail} ${sentence(cause.message)}` : detail;
}

/** Whether an error means that the store was unavailable. */
export function isStoreFault(error: unknown): error is Problem {
  return error instanceof Problem && error.code === "store_unavailable";
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
