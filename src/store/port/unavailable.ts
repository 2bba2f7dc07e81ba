import { Problem } from "../../problem.ts";

/** Seconds after which a caller may try again. */
const RETRY_AFTER_SECONDS = 1;

/**
 * The problem of every store operation that could not be done, or of which nobody knows.
 *
 * @param detail What any caller may read; the cause belongs in the log.
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

/**
 * What an error says to the operator. The problems of a store are worded for callers, which are to
 * try again; the operator reads the engine's message, which names the fault.
 */
export function faultText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!isStoreFault(error)) return error.message;
  const { detail = error.message, cause } = error;
  return cause instanceof Error ? `${detail} ${sentence(cause.message)}` : detail;
}

/** Whether an error is of a store that could not answer. */
export function isStoreFault(error: unknown): error is Problem {
  return error instanceof Problem && error.code === "store_unavailable";
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
