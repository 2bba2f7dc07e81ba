import type { FaultKind } from "../sources/live/fault.ts";
import { collection } from "../store/port/records.ts";
import { LONGEST_BACKOFF_MS } from "./backoff.ts";

/** Longest that a series waits by itself, for the next file or filing, in milliseconds. */
const LONGEST_WAIT_MS = 48 * 3_600_000;

/** How far a series has been followed. */
export interface SeriesProgress {
  /** As its provider writes it. */
  readonly cursor: string | null;
  /** Nothing is asked before, Unix milliseconds. */
  readonly notBefore: number;
  /** Answers in a row that were not what is documented. */
  readonly failures: number;
  /** What was wrong with the last of them; `null` when the last answer was read. */
  readonly fault: string | null;
  /** Symbols of the series that its provider says it does not have. */
  readonly unknown: readonly string[];
  /** When an answer was last read or refused, Unix milliseconds. */
  readonly askedAt: number;
}

/** How a provider is doing, for the budget, the breaker and the operator. */
export interface ProviderProgress {
  /** When the last requests went out, Unix milliseconds, as many as the budget counts. */
  readonly sentAt: readonly number[];
  /** Nothing is asked before, Unix milliseconds: the breaker. */
  readonly openUntil: number;
  /** Faults in a row. */
  readonly failures: number;
  /** When an answer was last read, Unix milliseconds. */
  readonly lastSuccessAt: number | null;
  readonly lastFault: {
    readonly at: number;
    readonly kind: FaultKind;
    readonly text: string;
  } | null;
  /** What the newest datum is about, Unix milliseconds. */
  readonly newestAt: number | null;
  /** Made up by whoever wrote it last. */
  readonly by: string;
}

/** By provider and series. */
export const seriesProgress = collection<SeriesProgress>("ingest-series");

/** By provider. */
export const providerProgress = collection<ProviderProgress>("ingest-providers");

/** Key of a series. */
export const seriesKey = (providerId: string, series: string): string => `${providerId} ${series}`;

/** Group of the series of a provider. */
export const seriesGroup = (providerId: string): string => `ingest ${providerId}`;

/** Before anything was asked. */
export const NEW_SERIES: SeriesProgress = {
  cursor: null,
  notBefore: 0,
  failures: 0,
  fault: null,
  unknown: [],
  askedAt: 0,
};

/** Before anything was asked. */
export const NEW_PROVIDER: ProviderProgress = {
  sentAt: [],
  openUntil: 0,
  failures: 0,
  lastSuccessAt: null,
  lastFault: null,
  newestAt: null,
  by: "",
};

/**
 * What was noted of a provider, as far as it can be true by the clock of now: one that was ahead
 * has left pauses of any length. What it dated into the future has happened, whenever it was.
 *
 * @param now Unix milliseconds.
 */
export function believed(noted: ProviderProgress, now: number): ProviderProgress {
  const { sentAt, openUntil, newestAt, lastSuccessAt, lastFault } = noted;
  const past = (at: number | null) => at && Math.min(at, now);
  return {
    ...noted,
    sentAt: sentAt.map((at) => Math.min(at, now)),
    openUntil: openUntil > now + LONGEST_BACKOFF_MS ? 0 : openUntil,
    newestAt: past(newestAt),
    lastSuccessAt: past(lastSuccessAt),
    lastFault: lastFault && { ...lastFault, at: Math.min(lastFault.at, now) },
  };
}

/** The same of a series. @param now Unix milliseconds. */
export function believedSeries(noted: SeriesProgress | undefined, now: number): SeriesProgress {
  const progress = { ...NEW_SERIES, ...noted };
  return progress.notBefore > now + LONGEST_WAIT_MS ? { ...progress, notBefore: 0 } : progress;
}
