import { randomUUID } from "node:crypto";
import { ProviderFault } from "../sources/live/fault.ts";
import type {
  PolledProvider,
  PollStep,
  ProviderSeries,
  RequestBudget,
} from "../sources/live/provider.ts";
import { catchFault } from "../sources/live/provider-response.ts";
import { readAll } from "../store/port/read-all.ts";
import type { Records } from "../store/port/records.ts";
import {
  correctedProviderProgress,
  correctedSeriesProgress,
  NEW_PROVIDER_PROGRESS,
  type ProviderProgress,
  type SeriesProgress,
  seriesGroup,
  seriesKey,
  seriesProgress,
} from "./provider-progress.ts";

/** Minimum length of a budget window that outlasts a restart of the process, in milliseconds. */
const LONG_MS = 60_000;

/**
 * Whether each request is recorded on disk before it is sent; this is done only for budget windows
 * of at least `LONG_MS`. For shorter windows, the next process counts one additional request
 * instead, which is cheaper.
 */
export const mustRecordBeforeSending = ({ perMs }: RequestBudget): boolean => perMs >= LONG_MS;

/**
 * When the next request may be sent, so that no time window contains more requests than the budget
 * allows.
 *
 * @param sentAt When requests were sent, Unix milliseconds, ascending; at least the last
 * `budget.requests` of them.
 * @returns Unix milliseconds; in the past if a request may be sent now.
 */
export function nextSendAt(sentAt: readonly number[], { requests, perMs }: RequestBudget): number {
  const oldest = sentAt.at(-requests);
  return oldest === undefined ? 0 : oldest + perMs;
}

/**
 * Adds a request to the send times, and keeps only the newest ones: as many as the budget allows
 * per window.
 */
export const withSentRequest = (
  sentAt: readonly number[],
  { requests }: RequestBudget,
  now: number,
) => [...sentAt, now].slice(-requests);

/** One series and its progress. */
export interface SeriesState {
  readonly series: ProviderSeries;
  progress: SeriesProgress;
  /** When the series is next checked for a due request, Unix milliseconds. */
  lookAt: number;
}

/** Progress of a provider and of all its series. */
export interface PollerState {
  /**
   * Random id of the process that last wrote the progress before it was loaded; `undefined` if none
   * did.
   */
  readonly foundBy: string | undefined;
  provider: ProviderProgress;
  readonly series: readonly SeriesState[];
}

/** A poll step that sends a request. */
export type RequestStep = Extract<PollStep, { readonly request: unknown }>;

/** A due request, or the fault that occurred while building it. */
type DueRequest = { readonly followed: SeriesState } & (
  | { readonly step: RequestStep }
  | { readonly fault: ProviderFault }
);

/** Dependencies of `loadPollerState`. */
export interface PollerStateOptions {
  readonly provider: PolledProvider;
  readonly series: readonly ProviderSeries[];
  readonly records: Records;
  /** Returns the current time in Unix milliseconds. */
  readonly now: () => number;
}

/**
 * Loads the progress of a provider.
 *
 * @param found Stored progress of the provider; `undefined` before its first request.
 */
export async function loadPollerState(
  { provider, series, records, now }: PollerStateOptions,
  found: ProviderProgress | undefined,
): Promise<PollerState> {
  const kept = await readAll(records, seriesProgress, seriesGroup(provider.id));
  const byKey = new Map(kept.map(({ key, value }) => [key, value]));
  const { budget } = provider;
  const before = correctedProviderProgress(found ?? NEW_PROVIDER_PROGRESS, now());
  // The previous process may have ended after sending a request that it had not recorded.
  const sentAt = mustRecordBeforeSending(budget)
    ? before.sentAt
    : withSentRequest(before.sentAt, budget, now());
  return {
    foundBy: found?.by,
    provider: { ...before, sentAt, by: randomUUID() },
    series: series.map((one): SeriesState => {
      const progress = correctedSeriesProgress(byKey.get(seriesKey(provider.id, one.key)), now());
      return { series: one, progress, lookAt: progress.notBefore };
    }),
  };
}

/**
 * The request or fault of the series that has been due longest; series without a request are
 * skipped.
 */
export function firstDueRequest(all: readonly SeriesState[], now: number): DueRequest | undefined {
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
