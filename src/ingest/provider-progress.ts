import type { ProviderFaultKind } from "../sources/live/fault.ts";
import { collection } from "../store/port/records.ts";
import { MAX_BACKOFF_MS } from "./backoff.ts";

/** Maximum time that a series waits for its next file or filing, in milliseconds. */
const LONGEST_WAIT_MS = 48 * 3_600_000;

/** How far a series has been read, and when it may be requested again. */
export interface SeriesProgress {
  /** Position in the series, in the provider's format; `null` before the first answer. */
  readonly cursor: string | null;
  /** No request before this instant, Unix milliseconds. */
  readonly notBefore: number;
  /** Number of consecutive malformed answers. */
  readonly failures: number;
  /** Fault of the last malformed answer; `null` if the last answer was valid. */
  readonly fault: string | null;
  /** Symbols of the series that the provider does not know. */
  readonly unknown: readonly string[];
  /** When an answer was last read or refused as malformed, Unix milliseconds. */
  readonly askedAt: number;
}

/**
 * State of the requests to a provider: its rate limit, its circuit breaker, and its status for the
 * operator.
 */
export interface ProviderProgress {
  /**
   * When the last requests were sent, Unix milliseconds, ascending; as many as the budget allows.
   */
  readonly sentAt: readonly number[];
  /**
   * No request is sent before this instant, because the circuit breaker is open; Unix milliseconds.
   */
  readonly openUntil: number;
  /** Number of consecutive faults. */
  readonly failures: number;
  /** When an answer was last read, Unix milliseconds. */
  readonly lastSuccessAt: number | null;
  readonly lastFault: {
    readonly at: number;
    readonly kind: ProviderFaultKind;
    readonly text: string;
  } | null;
  /** Instant of the newest observation, Unix milliseconds. */
  readonly newestAt: number | null;
  /** Random id of the process that last wrote this record. */
  readonly by: string;
}

/** Progress by provider and series. */
export const seriesProgress = collection<SeriesProgress>("ingest-series", {
  groups: (_, key) => [seriesGroup(key.slice(0, key.indexOf(" ")))],
});

/** Progress by provider. */
export const providerProgress = collection<ProviderProgress>("ingest-providers");

/** Key of the record with the progress of a series. The id of a provider has no spaces. */
export const seriesKey = (providerId: string, series: string): string => `${providerId} ${series}`;

/** Group of the records with the progress of all series of a provider. */
export const seriesGroup = (providerId: string): string => `ingest ${providerId}`;

/** Progress of a series before the first request. */
export const NEW_SERIES_PROGRESS: SeriesProgress = {
  cursor: null,
  notBefore: 0,
  failures: 0,
  fault: null,
  unknown: [],
  askedAt: 0,
};

/** Progress of a provider before the first request. */
export const NEW_PROVIDER_PROGRESS: ProviderProgress = {
  sentAt: [],
  openUntil: 0,
  failures: 0,
  lastSuccessAt: null,
  lastFault: null,
  newestAt: null,
  by: "",
};

/**
 * Corrects the progress of a provider if the clock of the process that wrote it was ahead: such a
 * clock leaves pauses that are too long, and future times for past events.
 *
 * @param now Unix milliseconds.
 */
export function correctedProviderProgress(noted: ProviderProgress, now: number): ProviderProgress {
  const { sentAt, openUntil, newestAt, lastSuccessAt, lastFault } = noted;
  const past = (at: number | null) => at && Math.min(at, now);
  return {
    ...noted,
    sentAt: sentAt.map((at) => Math.min(at, now)),
    openUntil: openUntil > now + MAX_BACKOFF_MS ? 0 : openUntil,
    newestAt: past(newestAt),
    lastSuccessAt: past(lastSuccessAt),
    lastFault: lastFault && { ...lastFault, at: Math.min(lastFault.at, now) },
  };
}

/**
 * Like `correctedProviderProgress`, for a series.
 *
 * @param now Unix milliseconds.
 */
export function correctedSeriesProgress(
  noted: SeriesProgress | undefined,
  now: number,
): SeriesProgress {
  const progress = { ...NEW_SERIES_PROGRESS, ...noted };
  return progress.notBefore > now + LONGEST_WAIT_MS ? { ...progress, notBefore: 0 } : progress;
}
