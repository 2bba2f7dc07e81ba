import { ProviderFault } from "../../../src/sources/live/fault.ts";
import type {
  Observation,
  ParsedResponse,
  PolledProvider,
  ProviderOptions,
  ProviderRequest,
  ProviderSeries,
  RejectedObservation,
} from "../../../src/sources/live/provider.ts";
import type { ProviderResponse } from "../../../src/sources/live/provider-response.ts";

/** A request as a provider's simulated server receives it. */
export interface ServedRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  readonly body: string;
}

/** The answer of a provider's simulated server. */
export interface ServedAnswer {
  readonly status: number;
  /** Headers by lower-case name. */
  readonly headers?: Record<string, string>;
  readonly body: string | Buffer;
}

/** The pure function behind a provider's simulated server. @param now Unix milliseconds. */
export type Serve = (request: ServedRequest, now: number) => ServedAnswer;

/** Options of a run. */
export interface DriveOptions extends Omit<ProviderOptions, "feeds"> {
  /** Requested feeds; default: all feeds of the provider. */
  readonly feeds?: ProviderOptions["feeds"];
  /** Start of the clock, Unix milliseconds. Waits and the budget advance it. */
  readonly now: number;
  /** Waits are skipped up to this instant, Unix milliseconds; default: `now`. */
  readonly until?: number;
  /** Cursors from which to continue, by key of the series. */
  readonly cursors?: Readonly<Record<string, string>>;
  /**
   * Number of requests after which the run stops as if killed; it still returns its data and
   * cursors.
   */
  readonly killAfter?: number;
}

/** A sent request. */
interface Sent extends ProviderRequest {
  /** Key of the series. */
  readonly key: string;
  /** Instant of the request, Unix milliseconds. */
  readonly at: number;
}

/** Result of a run. */
export interface DrivenPolling {
  /** The data without duplicates, each datum as it was first received, in order of arrival. */
  readonly data: readonly Observation[];
  readonly rejected: readonly RejectedObservation[];
  readonly requests: readonly Sent[];
  /** Instants for which series wait, in the order in which they requested the wait. */
  readonly waits: readonly { readonly key: string; readonly until: number }[];
  /** Last cursor of each series. */
  readonly cursors: Readonly<Record<string, string>>;
  /** Symbols that the provider does not have, by series, according to the latest answer. */
  readonly unknown: Readonly<Record<string, readonly string[]>>;
  /** The clock at the end, Unix milliseconds. */
  readonly now: number;
}

/**
 * Maximum number of requests, after which a provider counts as caught in a loop. The other
 * constants limit one answer.
 */
const MAX_REQUESTS = 20_000;
const MAX_DATA_PER_READING = 20_000;
const MAX_CURSOR_CHARACTERS = 1_000;
const MAX_BODY_BYTES = 16 * 1_048_576;

interface Followed {
  readonly series: ProviderSeries;
  cursor: string | undefined;
  dueAt: number;
}

/**
 * Polls a provider's simulated server in virtual time, as the service would: the series in turn,
 * within the provider's budget, until all of them wait for an instant after `until`.
 *
 * @throws {ProviderFault} For a failed request, which is not retried.
 * @throws {Error} When the provider breaks a rule of `src/sources/live/provider.ts`.
 */
export function drivePolling(
  provider: PolledProvider,
  serve: Serve,
  options: DriveOptions,
): DrivenPolling {
  const { until = options.now, killAfter = Number.POSITIVE_INFINITY } = options;
  const followed = followedSeries(provider, options);
  const clock = createBudgetClock(provider, options.now);
  const kept = createKeeper(provider, options);
  const requests: Sent[] = [];
  const waits: { key: string; until: number }[] = [];
  const unknown: Record<string, readonly string[]> = {};
  for (;;) {
    const next = earliest(followed);
    if (next === undefined || next.dueAt > until || requests.length >= killAfter) break;
    if (requests.length >= MAX_REQUESTS) throw new Error(`${provider.id} does not come to an end`);
    clock.setForward(next.dueAt);
    const { series, cursor } = next;
    const step = series.next(cursor, clock.now());
    if ("waitUntil" in step) {
      waits.push({ key: series.key, until: step.waitUntil });
      next.dueAt = requireLater(step.waitUntil, clock.now(), series);
      continue;
    }
    const at = clock.takeTurn();
    requests.push({ ...step.request, key: series.key, at });
    const answer = sendRequest(provider, serve, { request: step.request, at });
    const reading = step.read(answer);
    requireProgress(reading, { cursor, at, series });
    kept.keep(reading);
    unknown[series.key] = reading.unknown ?? [];
    next.cursor = reading.cursor;
    next.dueAt = reading.notBefore ?? next.dueAt;
  }
  const cursors = Object.fromEntries(
    followed.flatMap(({ series, cursor }) => (cursor === undefined ? [] : [[series.key, cursor]])),
  );
  return { ...kept.all(), requests, waits, cursors, unknown, now: clock.now() };
}

function followedSeries(provider: PolledProvider, options: DriveOptions): Followed[] {
  const { feeds = new Set(provider.feeds), instruments } = options;
  const ofClass = instruments.filter(({ assetClass }) => provider.classes.includes(assetClass));
  const all = provider.series({ ...options, feeds, instruments: ofClass });
  const keys = new Set(all.map(({ key }) => key));
  if (keys.size !== all.length) throw new Error(`${provider.id} has two series of one key`);
  return all.map((series) => ({
    series,
    cursor: options.cursors?.[series.key],
    dueAt: options.now,
  }));
}

/** The series that is due first; among equals, the one that was polled least recently. */
function earliest(followed: Followed[]): Followed | undefined {
  let first: Followed | undefined;
  for (const one of followed) if (first === undefined || one.dueAt < first.dueAt) first = one;
  if (first === undefined) return undefined;
  followed.push(...followed.splice(followed.indexOf(first), 1));
  return first;
}

/**
 * A clock that advances to keep the provider's budget: at most `requests` turns in any period of
 * `perMs`.
 */
function createBudgetClock({ budget }: PolledProvider, start: number) {
  const turns: number[] = [];
  let now = start;
  const setForward = (at: number) => {
    now = Math.max(now, at);
  };
  return {
    now: () => now,
    setForward,
    takeTurn() {
      if (turns.length >= budget.requests) setForward((turns.shift() as number) + budget.perMs);
      turns.push(now);
      return now;
    },
  };
}

function sendRequest(
  provider: PolledProvider,
  serve: Serve,
  { request, at }: { readonly request: ProviderRequest; readonly at: number },
): ProviderResponse {
  const { path, post, headers, accepts = [], maxBytes = MAX_BODY_BYTES } = request;
  if (!path.startsWith("/") || path.startsWith("//")) throw new Error(`${path} is no path`);
  const sentHeaders = new Headers(headers);
  if (post) sentHeaders.set("content-type", post.type);
  const served = serve(
    {
      method: post ? "POST" : "GET",
      url: new URL(path, provider.origin),
      headers: sentHeaders,
      body: post?.body ?? "",
    },
    at,
  );
  const { status } = served;
  const received = new Headers(served.headers);
  if (status !== 200 && !accepts.includes(status)) throw faultOf(status, received);
  const body = Buffer.from(served.body);
  if (body.length > maxBytes) throw new ProviderFault("malformed", "the answer is too large");
  return { status, header: (name) => received.get(name) ?? undefined, body, receivedAt: at };
}

/** The provider fault for an HTTP status. */
function faultOf(status: number, headers: Headers): ProviderFault {
  const message = `HTTP ${status}`;
  if (status === 401 || status === 403) return new ProviderFault("refused", message);
  if (status >= 500) return new ProviderFault("failing", message);
  if (status !== 429) return new ProviderFault("malformed", message);
  const seconds = headers.get("retry-after");
  return new ProviderFault("limited", message, seconds === null ? undefined : +seconds * 1_000);
}

function requireLater(waitUntil: number, now: number, { key }: ProviderSeries): number {
  if (waitUntil > now) return waitUntil;
  throw new Error(`${key} waits for ${waitUntil}, which has passed at ${now}`);
}

function requireProgress(
  { cursor, notBefore, data }: ParsedResponse,
  before: {
    readonly cursor: string | undefined;
    readonly at: number;
    readonly series: ProviderSeries;
  },
): void {
  const { key } = before.series;
  if (cursor.length > MAX_CURSOR_CHARACTERS) throw new Error(`${key}: the cursor is too long`);
  if (data.length > MAX_DATA_PER_READING) throw new Error(`${key}: ${data.length} data at once`);
  const isPaused = notBefore !== undefined && notBefore > before.at;
  if (cursor === before.cursor && !isPaused) throw new Error(`${key} stands still at ${cursor}`);
}

/**
 * Collects the data without duplicates. @throws {Error} When a datum belongs to another feed or
 * symbol than requested.
 */
function createKeeper(provider: PolledProvider, { instruments }: DriveOptions) {
  const symbols = new Set(instruments.map(({ symbol }) => symbol));
  const data = new Map<string, Observation>();
  const rejected: RejectedObservation[] = [];
  return {
    keep(reading: ParsedResponse) {
      for (const datum of reading.data) {
        requireOwn(provider, symbols, datum);
        requireFinite(datum);
        const key = JSON.stringify([datum.feed, datum.symbol, datum.at, datum.id]);
        if (!data.has(key)) data.set(key, datum);
      }
      for (const one of reading.rejected ?? []) requireOwn(provider, symbols, one);
      rejected.push(...(reading.rejected ?? []));
    },
    all: () => ({ data: [...data.values()], rejected }),
  };
}

function requireOwn(
  { id, feeds }: PolledProvider,
  symbols: ReadonlySet<string>,
  { feed, symbol }: Pick<Observation, "feed" | "symbol">,
): void {
  if (!feeds.includes(feed)) throw new Error(`${id} does not fill ${feed}`);
  if (!symbols.has(symbol)) throw new Error(`${id} was not asked for ${symbol}`);
}

function requireFinite({ at, id, record }: Observation): void {
  const numbers = [at, ...Object.values(record).filter((value) => typeof value === "number")];
  if (!numbers.every(Number.isFinite)) throw new Error(`${id} holds a number that is none`);
}

/** A simulated server that answers every request alike. */
export const serveAlways =
  (body: unknown, status = 200): Serve =>
  () => ({ status, body: typeof body === "string" ? body : JSON.stringify(body) });

/**
 * The provider fault that a function throws. @throws {Error} When it throws another error, or none.
 */
export function faultIn(run: () => unknown): ProviderFault {
  try {
    run();
  } catch (error) {
    if (error instanceof ProviderFault) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}
