import { Problem } from "../../problem.ts";

/**
 * What an error says to the operator. The problems of a store are worded for strangers, who are to
 * try again; the operator is told what the engine said, which names the fault.
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
