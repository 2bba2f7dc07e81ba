import { randomUUID } from "node:crypto";
import type { ProviderFault } from "../sources/live/fault.ts";
import type { ProviderOptions, StreamedProvider } from "../sources/live/provider.ts";
import type { Archive } from "../store/port/archive.ts";
import type { Records } from "../store/port/records.ts";
import { transact } from "../store/transact.ts";
import { backoffMs, createFailureBackoff, storeFailureAsFault } from "./backoff.ts";
import { announceObservations } from "./follow-observations.ts";
import { persistObservations } from "./persist.ts";
import {
  correctedProviderProgress,
  NEW_PROVIDER_PROGRESS,
  NEW_SERIES_PROGRESS,
  type ProviderProgress,
  providerProgress,
  seriesKey,
  seriesProgress,
} from "./provider-progress.ts";
import {
  openStreamConnection,
  STREAM_SILENCE_MS,
  type StreamConnection,
} from "./stream-connection.ts";

/**
 * Interval at which the position in a stream is saved when there are no observations, in
 * milliseconds.
 */
const MARK_EVERY_MS = 5_000;

/**
 * The connection ends if `step` is not called for this long, in milliseconds: only the leading
 * process calls `step`.
 */
const LED_MS = 15_000;

/** Key of the only series of a stream. */
const SERIES = "stream";

/** Dependencies of a listener. */
interface StreamListenerOptions {
  readonly provider: StreamedProvider;
  readonly options: ProviderOptions;
  /** Origin, `ws:` or `wss:`, without a trailing slash. */
  readonly origin: string;
  readonly records: Records;
  readonly archive: Archive;
  /** Returns the current time in Unix milliseconds. */
  readonly now: () => number;
  /** Returns a random number in [0, 1). */
  readonly random: () => number;
}

/** Follows one stream. */
export interface StreamListener {
  /**
   * Connects if necessary, and writes the observations that have arrived.
   *
   * @returns Number of messages processed.
   */
  step(): Promise<number>;
  /** Ends the connection. */
  close(): void;
}

/** Progress of the stream. */
interface State {
  provider: ProviderProgress;
  cursor: string | undefined;
  markedAt: number;
}

/**
 * Follows a stream from its saved position. Observations are written before the position, so that
 * after an interruption messages arrive again rather than get lost; duplicates are stored once.
 */
export function createStreamListener(options: StreamListenerOptions): StreamListener {
  const { now } = options;
  const read = options.provider.reader(options.options);
  const refused = new Set<string>();
  const rest = createFailureBackoff(options);
  let state: State | undefined;
  let connection: StreamConnection | undefined;
  let askedAt = 0;
  const isLed = () => now() - askedAt <= LED_MS;
  const hang = () => {
    connection?.socket.terminate();
    connection = undefined;
  };
  const work = async (): Promise<number> => {
    // Another process may have been the leader meanwhile, or our clock was wrong.
    if (!isLed() || now() < askedAt) state = undefined;
    askedAt = now();
    state ??= await load(options);
    if (connection === undefined) {
      if (askedAt < state.provider.openUntil) return 0;
      connection = openStreamConnection(state.cursor, { ...options, read, refused, isLed });
      return 0;
    }
    const { length } = connection.waiting;
    if (await drain(connection, state, options)) connection = undefined;
    return length;
  };
  /**
   * Drops the connection and the state in memory; messages that are not on disk arrive again from
   * the saved position.
   */
  const giveUp = async (error: unknown): Promise<never> => {
    hang();
    const known = state;
    state = undefined;
    // The fault is shown to the operator, if the store accepts this small write.
    if (known) await pause(storeFailureAsFault(error), known, options).catch(() => undefined);
    throw error;
  };
  return {
    close: hang,
    step: async () => (now() < rest.until() ? 0 : rest.run(() => work().catch(giveUp))),
  };
}

/**
 * Writes the waiting messages.
 *
 * @returns Whether the connection has ended.
 */
async function drain(
  connection: StreamConnection,
  state: State,
  options: StreamListenerOptions,
): Promise<boolean> {
  if (Math.abs(options.now() - connection.heardAt) > STREAM_SILENCE_MS)
    connection.end("nothing came for a minute");
  const { fault } = connection;
  await write(connection, state, options);
  if (fault !== undefined) await pause(fault, state, options);
  return fault !== undefined;
}

async function write(
  { waiting: buffer, heardAt: observedAt }: StreamConnection,
  state: State,
  options: StreamListenerOptions,
): Promise<void> {
  const { provider, now, records, archive } = options;
  const waiting = buffer.splice(0);
  const cursor = waiting.at(-1)?.cursor;
  const data = waiting.flatMap((reading) => reading.data);
  if (cursor === undefined) return;
  const rejected = waiting.flatMap((reading) => reading.rejected ?? []);
  const isNothing = data.length + rejected.length === 0;
  if (isNothing && Math.abs(now() - state.markedAt) < MARK_EVERY_MS) {
    state.cursor = cursor;
    return;
  }
  const given = { provider: provider.id, observedAt };
  const { newestAt, hasNew } = await persistObservations({ data, rejected }, given, archive);
  const progress: ProviderProgress = {
    ...state.provider,
    failures: 0,
    openUntil: 0,
    lastSuccessAt: now(),
    newestAt: Math.max(state.provider.newestAt ?? 0, newestAt ?? 0) || null,
  };
  const series = { ...NEW_SERIES_PROGRESS, cursor, askedAt: now() };
  await transact(records, (tx) => {
    tx.put(seriesProgress, { key: seriesKey(provider.id, SERIES), value: series });
    tx.put(providerProgress, { key: provider.id, value: progress });
    if (hasNew) announceObservations(tx);
  });
  state.cursor = cursor;
  state.provider = progress;
  state.markedAt = now();
}

async function pause(
  fault: ProviderFault,
  state: State,
  { provider, now, random, records }: StreamListenerOptions,
): Promise<void> {
  const failures = state.provider.failures + 1;
  const at = now();
  state.provider = {
    ...state.provider,
    failures,
    openUntil: at + backoffMs(fault, failures, random()),
    lastFault: { at, kind: fault.kind, text: fault.message },
  };
  const value = state.provider;
  await transact(records, (tx) => tx.put(providerProgress, { key: provider.id, value }));
}

async function load({ provider, records, now }: StreamListenerOptions): Promise<State> {
  const stored = await records.get(providerProgress, provider.id);
  const series = await records.get(seriesProgress, seriesKey(provider.id, SERIES));
  return {
    provider: {
      ...correctedProviderProgress(stored?.value ?? NEW_PROVIDER_PROGRESS, now()),
      by: randomUUID(),
    },
    cursor: series?.value.cursor ?? undefined,
    markedAt: now(),
  };
}
