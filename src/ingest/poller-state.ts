import { randomUUID } from "node:crypto";
import { ProviderFault } from "../sources/live/fault.ts";
import type { Budget, PolledProvider, PollStep, Series } from "../sources/live/provider.ts";
import { catchFault } from "../sources/live/provider-response.ts";
import { readAll } from "../store/port/read-all.ts";
import type { Records } from "../store/port/records.ts";
import {
  correctedProgress,
  correctedSeriesProgress,
  NEW_PROVIDER,
  type ProviderProgress,
  type SeriesProgress,
  seriesGroup,
  seriesKey,
  seriesProgress,
} from "./provider-progress.ts";

/** Length of a budget's window from which it does not recover during a restart of the process, in
 *  milliseconds. */
const LONG_MS = 60_000;

/** Whether a request is recorded on disk before it is sent. For short budgets, the next process counts
 *  one more request instead, which costs less. */
export const mustRecordBeforeSending = ({ perMs }: Budget): boolean => perMs >= LONG_MS;

/**
 * When the next request may go out, so that no window of the budget ever holds more than it allows.
 *
 * @param sentAt When requests went out, Unix milliseconds, ascending; at least the last
 *   `budget.requests` of them.
 * @returns Unix milliseconds; in the past when there is room now.
 */
export function nextSendAt(sentAt: readonly number[], { requests, perMs }: Budget): number {
  const oldest = sentAt.at(-requests);
  return oldest === undefined ? 0 : oldest + perMs;
}

/** The requests that the budget counts, with one more. */
export const withRequest = (sentAt: readonly number[], { requests }: Budget, now: number) =>
  [...sentAt, now].slice(-requests);

/** One series and its progress. */
export interface SeriesState {
  readonly series: Series;
  progress: SeriesProgress;
  /** When to look at it again, Unix milliseconds. */
  lookAt: number;
}

/** Progress of a provider and of all its series. */
export interface PollerState {
  /** Process that had written last when it was loaded. */
  readonly foundBy: string | undefined;
  provider: ProviderProgress;
  readonly series: readonly SeriesState[];
}

/** A step with a request. */
export type RequestStep = Extract<PollStep, { readonly request: unknown }>;

/** A due request, or the fault that occurred in building it. */
export type DueRequest = { readonly followed: SeriesState } & (
  | { readonly step: RequestStep }
  | { readonly fault: ProviderFault }
);

/** Dependencies of `loadState`. */
export interface LoadOptions {
  readonly provider: PolledProvider;
  readonly series: readonly Series[];
  readonly records: Records;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Loads the progress of a provider. @param found Its record. */
export async function loadState(
  { provider, series, records, now }: LoadOptions,
  found: ProviderProgress | undefined,
): Promise<PollerState> {
  const kept = await readAll(records, seriesProgress, seriesGroup(provider.id));
  const byKey = new Map(kept.map(({ key, value }) => [key, value]));
  const { budget } = provider;
  const before = correctedProgress(found ?? NEW_PROVIDER, now());
  // The process that asked last may have ended with an unrecorded request.
  const sentAt = mustRecordBeforeSending(budget)
    ? before.sentAt
    : withRequest(before.sentAt, budget, now());
  return {
    foundBy: found?.by,
    provider: { ...before, sentAt, by: randomUUID() },
    series: series.map((one): SeriesState => {
      const progress = correctedSeriesProgress(byKey.get(seriesKey(provider.id, one.key)), now());
      return { series: one, progress, lookAt: progress.notBefore };
    }),
  };
}

/** The series that has waited longest among those with a request. */
export function firstDue(all: readonly SeriesState[], now: number): DueRequest | undefined {
  const candidates = all.filter(({ lookAt }) => lookAt <= now);
  for (const followed of candidates.sort((one, other) => one.lookAt - other.lookAt)) {
    const { cursor, failures } = followed.progress;
    const next = () => followed.series.next(cursor ?? undefined, now, failures);
    const step = catchFault(next, "its next question");
    if (step instanceof ProviderFault) return { followed, fault: step };
    if ("request" in step) return { followed, step };
    followed.lookAt = step.waitUntil;
  }
  return undefined;
}
