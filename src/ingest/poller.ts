import { ProviderFault } from "../sources/live/fault.ts";
import type { ParsedResponse, ProviderRequest } from "../sources/live/provider.ts";
import { catchFault } from "../sources/live/provider-response.ts";
import type { Archive } from "../store/port/archive.ts";
import { transact } from "../store/transact.ts";
import { backoffMs, createFailureBackoff, storeFailureAsFault } from "./backoff.ts";
import { announceObservations } from "./follow-observations.ts";
import { persistObservations } from "./persist.ts";
import {
  firstDueRequest,
  loadPollerState,
  mustRecordBeforeSending,
  nextSendAt,
  type PollerState,
  type PollerStateOptions,
  type RequestStep,
  type SeriesState,
  withSentRequest,
} from "./poller-state.ts";
import type { SendProviderRequest } from "./provider-client.ts";
import {
  type ProviderProgress,
  providerProgress,
  type SeriesProgress,
  seriesKey,
  seriesProgress,
} from "./provider-progress.ts";
import type { ResponseCache } from "./response-cache.ts";

/** If our clock is set back by more than this, in milliseconds, it was wrong before. */
const SET_BACK_MS = 60_000;

/** Dependencies of a poller. */
interface PollerOptions extends PollerStateOptions {
  readonly archive: Archive;
  readonly ask: SendProviderRequest;
  /** Cache of answers that never change. */
  readonly cache?: ResponseCache | undefined;
  /** Mirror configured by the operator; its answers are cached separately from the provider's. */
  readonly mirror?: string | undefined;
  /** Returns a random number in [0, 1). */
  readonly random: () => number;
}

/** Polls one provider. */
export interface Poller {
  /**
   * Sends one request if one is due now.
   *
   * @returns 1 if a request was due, otherwise 0.
   */
  step(): Promise<number>;
  /** When the next request may be due, Unix milliseconds. */
  nextAt(): number;
}

/**
 * Polls the series of one provider, starting with the series that has been due longest: one request
 * at a time, within the budget, and each answer is on disk before the next request. Observations
 * are written before the cursor, so that after a kill an answer is requested again rather than
 * lost; duplicates are stored once. A fault pauses the whole provider; an answer that cannot be
 * read pauses only its own series, since other series may be fine. When the store fails, the state
 * in memory is discarded and loaded from disk.
 */
export function createPoller(options: PollerOptions): Poller {
  const { now } = options;
  const { budget } = options.provider;
  const rest = createFailureBackoff(options);
  let state: PollerState | undefined;
  let seenAt = 0;
  /** Reloads the state if another process was the leader meanwhile, or if our clock was wrong. */
  const current = async (): Promise<PollerState> => {
    if (now() < seenAt - SET_BACK_MS) state = undefined;
    seenAt = now();
    const stored = await options.records.get(providerProgress, options.provider.id);
    const writer = stored?.value.by;
    if (state && (writer === state.provider.by || writer === state.foundBy)) return state;
    return loadPollerState(options, stored?.value);
  };
  const mayAskAt = ({ provider: { openUntil, sentAt } }: PollerState) =>
    Math.max(openUntil, nextSendAt(sentAt, budget));
  const work = async (): Promise<number> => {
    const known = await current();
    state = known;
    const at = now();
    if (at < mayAskAt(known)) return 0;
    const due = firstDueRequest(known.series, at);
    if (due === undefined) return 0;
    // If saving fails, the next step reloads the state from disk.
    state = undefined;
    const { followed } = due;
    if ("fault" in due) await fail(followed, { state: known, fault: due.fault }, options);
    else await attempt({ followed, state: known, step: due.step }, options);
    state = known;
    return 1;
  };
  return {
    step: async () => (now() < rest.until() ? 0 : rest.run(work)),
    nextAt() {
      if (state === undefined) return Math.max(now(), rest.until());
      return Math.max(mayAskAt(state), Math.min(...state.series.map(({ lookAt }) => lookAt)));
    },
  };
}

/** A request that is due, with the state of its provider. */
interface DueRequest {
  readonly followed: SeriesState;
  readonly state: PollerState;
  readonly step: RequestStep;
}

/** Sends the request, unless its answer is cached, and records the outcome. */
async function attempt(due: DueRequest, options: PollerOptions): Promise<void> {
  const { followed, state } = due;
  try {
    await succeed(due, options);
  } catch (error) {
    if (error instanceof ProviderFault) return fail(followed, { state, fault: error }, options);
    // The fault is shown to the operator, if the store accepts this small write.
    await fail(followed, { state, fault: storeFailureAsFault(error) }, options).catch(
      () => undefined,
    );
    throw error;
  }
}

async function succeed(due: DueRequest, options: PollerOptions): Promise<void> {
  const { followed, state } = due;
  const { reading, receivedAt } = await readingOf(due, options);
  const { cursor, notBefore = 0, unknown = [] } = reading;
  const given = { provider: options.provider.id, observedAt: receivedAt };
  const { newestAt, hasNew } = await persistObservations(reading, given, options.archive);
  const at = options.now();
  const provider = {
    ...state.provider,
    openUntil: 0,
    failures: 0,
    lastSuccessAt: at,
    newestAt: Math.max(state.provider.newestAt ?? 0, newestAt ?? 0) || null,
  };
  const well = { failures: 0, fault: null, askedAt: at };
  const progress = { cursor, notBefore, unknown, ...well };
  await save(followed, { state, progress, provider, hasNew }, options);
}

/** The parsed answer, from the cache or from the provider, and when it was received. */
async function readingOf(
  { state, step }: DueRequest,
  options: PollerOptions,
): Promise<{ readonly reading: ParsedResponse; readonly receivedAt: number }> {
  const { ask, cache, now } = options;
  const { request } = step;
  const key = cacheKey(request, options);
  const kept = request.keepMs ? await cache?.get(key, now()) : undefined;
  // A request is counted before it is sent, because even a request without an answer uses the
  // budget.
  if (kept === undefined) await count(state, options);
  const answer = kept ?? (await ask(request));
  const reading = catchFault(() => step.read(answer), "its answer");
  if (reading instanceof ProviderFault) {
    if (kept !== undefined) await cache?.remove(key);
    throw reading;
  }
  // An answer with `notBefore` may change until then, so it is not cached.
  if (kept === undefined && request.keepMs && reading.notBefore === undefined) {
    await cache?.put(key, answer, request.keepMs);
  }
  return { reading, receivedAt: answer.receivedAt };
}

const cacheKey = (
  { origin, path, post }: ProviderRequest,
  { provider, mirror }: PollerOptions,
): string => JSON.stringify([provider.id, mirror ?? origin ?? null, path, post?.body ?? null]);

async function count(
  state: PollerState,
  { provider: { id: key, budget }, records, now }: PollerOptions,
): Promise<void> {
  const value = {
    ...state.provider,
    sentAt: withSentRequest(state.provider.sentAt, budget, now()),
  };
  if (mustRecordBeforeSending(budget))
    await transact(records, (tx) => tx.put(providerProgress, { key, value }));
  state.provider = value;
}

async function fail(
  followed: SeriesState,
  { state, fault }: { readonly state: PollerState; readonly fault: ProviderFault },
  options: PollerOptions,
): Promise<void> {
  const at = options.now();
  const { message: text } = fault;
  const provider = { ...state.provider, lastFault: { at, kind: fault.kind, text } };
  const { progress } = followed;
  const failures = 1 + (fault.kind === "malformed" ? progress : provider).failures;
  const until = at + backoffMs(fault, failures, options.random());
  const refused = { failures, fault: text, askedAt: at, notBefore: until };
  const changes =
    fault.kind === "malformed"
      ? { provider, progress: { ...progress, ...refused } }
      : { provider: { ...provider, failures, openUntil: until }, progress };
  await save(followed, { state, ...changes }, options);
}

/** Progress to be saved. */
interface Changes {
  readonly state: PollerState;
  readonly progress: SeriesProgress;
  readonly provider: ProviderProgress;
  /** Whether observations were persisted, of which every process is to learn. */
  readonly hasNew?: boolean;
}

async function save(
  followed: SeriesState,
  { state, progress, provider, hasNew }: Changes,
  { records, provider: { id }, now }: PollerOptions,
): Promise<void> {
  const key = seriesKey(id, followed.series.key);
  await transact(records, (tx) => {
    tx.put(seriesProgress, { key, value: progress });
    tx.put(providerProgress, { key: id, value: provider });
    if (hasNew) announceObservations(tx);
  });
  followed.progress = progress;
  // Moves the series behind others that are due.
  followed.lookAt = Math.max(progress.notBefore, now());
  state.provider = provider;
}
