import type { ScheduleTimer } from "../lib/loop.ts";
import type { CountedWindow, CounterAddition, Counters } from "../store/port/counters.ts";

/** Maximum time that a caller waits for the database, in milliseconds. */
const TIMEOUT_MS = 250;

/** Pause before the next statement after the database failed, in milliseconds. */
const RETRY_PAUSE_MS = 1_000;

/** Maximum number of windows per statement, which bounds its duration. */
const MAX_BATCH = 1_500;

/** Points to add to a window in the database. */
export interface CounterRequest extends CounterAddition {
  /**
   * Called with the result, even after the caller's timeout; not called if the database failed.
   *
   * @param sentAt When the statement was sent, in milliseconds by the client's monotonic clock.
   */
  readonly onCounted: (answer: CountedWindow, sentAt: number) => void;
}

/** Dependencies of `CounterClient`. */
interface CounterClientOptions {
  readonly counters: Pick<Counters, "add">;
  /** Monotonic clock, in milliseconds. */
  readonly now: () => number;
  readonly schedule: ScheduleTimer;
  /** Maximum time that a caller waits for the database, in milliseconds. Default: 250. */
  readonly timeoutMs?: number | undefined;
  /** Called when the database failed; the client retries. */
  readonly onError: (error: unknown) => void;
}

interface PendingRequest extends CounterRequest {
  readonly resolve: (window: CountedWindow | undefined) => void;
}

/**
 * Counts in the database, one statement at a time; requests that arrive in the meantime share the
 * next statement. After a statement has timed out, callers do not wait: until a statement succeeds,
 * only one request at a time is sent, as a trial.
 */
export class CounterClient {
  readonly #counters: Pick<Counters, "add">;
  readonly #now: () => number;
  readonly #schedule: ScheduleTimer;
  readonly #timeoutMs: number;
  readonly #onError: (error: unknown) => void;
  #queue: PendingRequest[] = [];
  #isSending = false;
  #hasTimedOut = false;
  #retryAt = Number.NEGATIVE_INFINITY;

  constructor(options: CounterClientOptions) {
    this.#counters = options.counters;
    this.#now = options.now;
    this.#schedule = options.schedule;
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
    this.#onError = options.onError;
  }

  /**
   * Adds points to a window. If several additions to one window share a statement, each gets the
   * number of points up to and including its own.
   *
   * @returns `undefined` if the database does not respond in time.
   */
  add(request: CounterRequest): Promise<CountedWindow | undefined> {
    if (this.#hasTimedOut && (this.#isSending || this.#now() < this.#retryAt)) {
      return Promise.resolve(undefined);
    }
    const { promise, resolve } = Promise.withResolvers<CountedWindow | undefined>();
    this.#queue.push({ ...request, resolve });
    if (!this.#isSending) void this.#sendAll();
    return this.#hasTimedOut ? Promise.resolve(undefined) : promise;
  }

  async #sendAll(): Promise<void> {
    this.#isSending = true;
    // Requests in the same turn of the event loop share the first statement.
    await undefined;
    while (this.#queue.length > 0) await this.#send(this.#queue.splice(0, MAX_BATCH));
    this.#isSending = false;
  }

  async #send(batch: readonly PendingRequest[]): Promise<void> {
    const cancel = this.#schedule(() => this.#timeOut(batch), this.#timeoutMs);
    const sentAt = this.#now();
    try {
      const totals = await this.#counters.add(mergeByWindow(batch));
      this.#hasTimedOut = false;
      distribute(batch, totals, sentAt);
    } catch (error) {
      this.#timeOut(batch);
      this.#queue = [];
      this.#retryAt = this.#now() + RETRY_PAUSE_MS;
      this.#onError(error);
    } finally {
      cancel();
    }
  }

  #timeOut(batch: readonly PendingRequest[]): void {
    this.#hasTimedOut = true;
    for (const { resolve } of [...batch, ...this.#queue]) resolve(undefined);
  }
}

/** Merges the requests of a batch into one addition per window. */
function mergeByWindow(batch: readonly PendingRequest[]): readonly CounterAddition[] {
  const byName = Map.groupBy(batch, ({ name }) => name);
  return [...byName].map(([name, [first, ...others]]) => ({
    name,
    points: sumOf(others) + (first?.points ?? 0),
    windowMs: first?.windowMs ?? 0,
  }));
}

const sumOf = (batch: readonly PendingRequest[]): number =>
  batch.reduce((sum, { points }) => sum + points, 0);

/**
 * Resolves each request with the points up to and including its own.
 *
 * @param totals Totals per window, in the order of `mergeByWindow`.
 */
function distribute(
  batch: readonly PendingRequest[],
  totals: readonly CountedWindow[],
  sentAt: number,
): void {
  const groups = [...Map.groupBy(batch, ({ name }) => name).values()];
  for (const [index, group] of groups.entries()) {
    const total = totals[index];
    if (total === undefined) continue;
    let points = total.points - sumOf(group);
    for (const request of group) {
      points += request.points;
      const window = { points, leftMs: total.leftMs };
      request.onCounted(window, sentAt);
      request.resolve(window);
    }
  }
}
