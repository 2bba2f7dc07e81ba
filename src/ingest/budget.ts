import type { Budget } from "../sources/live/provider.ts";

/** Budgets of this time or more are not whole again when a process has restarted, in
 *  milliseconds. */
const LONG_MS = 60_000;

/** Whether a request is to be noted on disk before it goes out; of short budgets one more is counted
 *  by whoever asks next, which costs less. */
export const isNotedFirst = ({ perMs }: Budget): boolean => perMs >= LONG_MS;

/**
 * When the next request may go out, so that no window of the budget ever holds more than it allows.
 *
 * @param sentAt When requests went out, Unix milliseconds, ascending; at least the last
 *   `budget.requests` of them.
 * @returns Unix milliseconds; in the past when there is room now.
 */
export function roomAt(sentAt: readonly number[], { requests, perMs }: Budget): number {
  const oldest = sentAt.at(-requests);
  return oldest === undefined ? 0 : oldest + perMs;
}

/** Those requests that the budget still has to count, with one more. */
export const withSent = (sentAt: readonly number[], { requests }: Budget, now: number) =>
  [...sentAt, now].slice(-requests);
