import { orFault } from "../sources/live/answer.ts";
import { ProviderFault } from "../sources/live/fault.ts";
import type { ProviderRequest, Reading } from "../sources/live/provider.ts";
import { put } from "../store/port/operations.ts";
import type { Operation } from "../store/port/records.ts";
import type { AnswerCache } from "./answer-cache.ts";
import { backoffMs, createFailureBackoff, unkept } from "./backoff.ts";
import { type PersistOptions, persist } from "./persist.ts";
import {
  type Asking,
  type Followed,
  firstDue,
  isNotedFirst,
  type LoadOptions,
  loadState,
  roomAt,
  type State,
  withSent,
} from "./poller-state.ts";
import {
  type ProviderProgress,
  providerProgress,
  type SeriesProgress,
  seriesGroup,
  seriesKey,
  seriesProgress,
} from "./progress.ts";
import type { Ask } from "./provider-client.ts";

/** Our clock was wrong when it is set back by more than this, in milliseconds. */
const SET_BACK_MS = 60_000;

/** What a provider is followed with. */
export interface PollerOptions extends LoadOptions, PersistOptions {
  readonly ask: Ask;
  /** Answers that need not be asked for again. */
  readonly cache?: AnswerCache | undefined;
  /** Where the operator says that the provider is: its answers are not those of the provider. */
  readonly mirror?: string | undefined;
  /** A number in [0, 1). */
  readonly random: () => number;
}

/** Follows one provider. */
export interface Poller {
  /** Asks once, if anything may be asked now. @returns 1 if it did, otherwise 0. */
  step(): Promise<number>;
  /** When something may be asked next, Unix milliseconds. */
  nextAt(): number;
}

/**
 * Follows the series of one provider, the longest due first: one request at a time, within the
 * budget, each answer on disk before the next question. Data come before the cursor, so that after
 * a kill an answer is asked for again rather than lost; what is there twice is kept once. After a
 * fault the whole provider is left alone for a while, after an answer that cannot be read only the
 * series, since others may be well. When the store fails, what is in memory is forgotten: where it
 * stands is what is on disk.
 */
export function createPoller(options: PollerOptions): Poller {
  const { now } = options;
  const { budget } = options.provider;
  const rest = createFailureBackoff(options);
  let state: State | undefined;
  let seenAt = 0;
  /** Another process may have led in between, or our clock have been wrong. */
  const current = async (): Promise<State> => {
    if (now() < seenAt - SET_BACK_MS) state = undefined;
    seenAt = now();
    const stored = await options.records.get(providerProgress, options.provider.id);
    const writer = stored?.value.by;
    if (state && (writer === state.provider.by || writer === state.foundBy)) return state;
    return loadState(options, stored?.value);
  };
  const mayAskAt = ({ provider: { openUntil, sentAt } }: State) =>
    Math.max(openUntil, roomAt(sentAt, budget));
  const work = async (): Promise<number> => {
    const known = await current();
    state = known;
    const at = now();
    if (at < mayAskAt(known)) return 0;
    const due = firstDue(known.series, at);
    if (due === undefined) return 0;
    // Forgotten until all is on disk.
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

/** A question and where its provider stands. */
interface DueRequest {
  readonly followed: Followed;
  readonly state: State;
  readonly step: Asking;
}

/** Asks, unless the answer is there, and takes in what comes of it. */
async function attempt(question: DueRequest, options: PollerOptions): Promise<void> {
  const { followed, state } = question;
  try {
    await succeed(question, options);
  } catch (error) {
    if (error instanceof ProviderFault) return fail(followed, { state, fault: error }, options);
    // So that the operator sees it, if the store takes that much.
    await fail(followed, { state, fault: unkept(error) }, options).catch(() => undefined);
    throw error;
  }
}

async function succeed(question: DueRequest, options: PollerOptions): Promise<void> {
  const { followed, state } = question;
  const { reading, receivedAt } = await readingOf(question, options);
  const { cursor, notBefore = 0, unknown = [] } = reading;
  const given = { provider: options.provider.id, observedAt: receivedAt };
  const { newestAt, announcements } = await persist(reading, given, options);
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
  await save(followed, { state, progress, provider, announcements }, options);
}

/** What there is to read, from the cache or from the provider. */
async function readingOf(
  { state, step }: DueRequest,
  options: PollerOptions,
): Promise<{ readonly reading: Reading; readonly receivedAt: number }> {
  const { ask, cache, now } = options;
  const { request } = step;
  const key = cacheKey(request, options);
  const kept = request.keepMs ? await cache?.get(key, now()) : undefined;
  // Counted before it goes out: an answer that never comes was asked for, too.
  if (kept === undefined) await count(state, options);
  const answer = kept ?? (await ask(request));
  const reading = orFault(() => step.read(answer), "its answer");
  if (reading instanceof ProviderFault) {
    if (kept !== undefined) await cache?.remove(key);
    throw reading;
  }
  // Where it says to come again, the next answer may be another one.
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
  state: State,
  { provider: { id: key, budget }, records, now }: PollerOptions,
): Promise<void> {
  const value = { ...state.provider, sentAt: withSent(state.provider.sentAt, budget, now()) };
  if (isNotedFirst(budget)) await records.commit([put(providerProgress, { key, value })]);
  state.provider = value;
}

async function fail(
  followed: Followed,
  { state, fault }: { readonly state: State; readonly fault: ProviderFault },
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

/** What has changed. */
interface Changes {
  readonly state: State;
  readonly progress: SeriesProgress;
  readonly provider: ProviderProgress;
  readonly announcements?: readonly Operation[];
}

async function save(
  followed: Followed,
  { state, progress, provider, announcements = [] }: Changes,
  { records, provider: { id }, now }: PollerOptions,
): Promise<void> {
  const key = seriesKey(id, followed.series.key);
  await records.commit([
    put(seriesProgress, { key, value: progress, groups: [seriesGroup(id)] }),
    put(providerProgress, { key: id, value: provider }),
    ...announcements,
  ]);
  followed.progress = progress;
  // Others that are due come first.
  followed.lookAt = Math.max(progress.notBefore, now());
  state.provider = provider;
}
