import { partyShare } from "../../limits/party-share.ts";
import {
  allowedConcurrentAttempts,
  breakerAfterFailure,
  type CircuitBreaker,
  CLOSED_BREAKER,
} from "./circuit-breaker.ts";

/**
 * Milliseconds after which the state of an idle endpoint is discarded; longer than the longest
 * pause of a circuit breaker.
 */
const IDLE_MS = 3_600_000;

/** Outcome of an attempt, for the circuit breaker; `none` if nothing was sent. */
export type AttemptOutcome = "success" | "failure" | "none";

/** Dependencies and limits of the queues. */
interface EndpointQueuesOptions<T> {
  /** Makes an attempt; never rejects. */
  readonly attempt: (work: T) => Promise<AttemptOutcome>;
  /** Called when there is capacity again: in the process, for an endpoint, or for an owner. */
  readonly onCapacity: () => void;
  /** Maximum number of attempts that are running or waiting, over all endpoints. */
  readonly maxTotal: number;
  /**
   * Maximum number of running or waiting attempts for one owner while no other owner has work. Each
   * owner's share shrinks with the remaining capacity, so that a few owners cannot take all of it.
   */
  readonly maxPerOwner: number;
  /** The monotonic clock, in milliseconds. */
  readonly monotonic: () => number;
}

/** Running and waiting work of one endpoint. */
interface EndpointQueue<T> {
  readonly owner: string;
  breaker: CircuitBreaker;
  running: number;
  waiting: T[];
  /** When the last attempt ended, in milliseconds of the monotonic clock. */
  lastEndedAt: number;
}

/**
 * The deliveries that a process has claimed, in one queue per endpoint, so that a slow or dead
 * endpoint does not delay the others.
 */
export class EndpointQueues<T> {
  readonly #options: EndpointQueuesOptions<T>;
  readonly #queues = new Map<string, EndpointQueue<T>>();
  readonly #running = new Set<Promise<void>>();
  /**
   * Owners that were already served in the current round. Each owner gets at most one delivery per
   * round.
   */
  readonly #served = new Set<string>();
  #isStopped = false;

  constructor(options: EndpointQueuesOptions<T>) {
    this.#options = options;
  }

  /** Number of deliveries that can still be added. */
  get capacity(): number {
    return this.#options.maxTotal - totalSize(this.#queues.values());
  }

  /** Maximum number of deliveries per owner at the current load. */
  get share(): number {
    const { maxTotal, maxPerOwner } = this.#options;
    return Math.floor(partyShare({ total: maxTotal, most: maxPerOwner }, this.capacity));
  }

  /** Endpoints and owners that must not be given more work at present. */
  saturated(): readonly string[] {
    const now = this.#options.monotonic();
    for (const [endpoint, queue] of this.#queues) {
      if (sizeOf(queue) === 0 && now - queue.lastEndedAt > IDLE_MS) this.#queues.delete(endpoint);
    }
    const endpoints = [...this.#queues].filter(([, queue]) => isFull(queue, now));
    const owners = new Set([...this.#fullOwners(), ...this.#served]);
    return [...endpoints.map(([endpoint]) => endpoint), ...owners];
  }

  /**
   * Starts a new round, in which owners that were already served can be served again. Called when
   * no other owner has due work.
   *
   * @returns Whether any owner was served in the previous round.
   */
  nextRound(): boolean {
    const isNew = this.#served.size > 0;
    this.#served.clear();
    return isNew;
  }

  /**
   * Starts an attempt, or queues the work until its endpoint has capacity. Work for an endpoint
   * whose breaker has just opened is dropped: its lease expires, and it is claimed again.
   */
  add(work: T, endpoint: string, owner: string): void {
    const queue = this.#queues.get(endpoint) ?? newQueue(owner, this.#options.monotonic());
    this.#queues.set(endpoint, queue);
    if (this.share <= 1) this.#served.add(owner);
    queue.waiting.push(work);
    this.#start(queue);
  }

  /**
   * Prevents further attempts from starting.
   *
   * @returns The work that was still waiting, and a promise that resolves when running attempts
   * have ended.
   */
  stop(): { readonly waiting: readonly T[]; readonly ended: Promise<unknown> } {
    this.#isStopped = true;
    const waiting = [...this.#queues.values()].flatMap((queue) => queue.waiting.splice(0));
    return { waiting, ended: Promise.all(this.#running) };
  }

  /** Owners that have used up their share of the capacity. */
  #fullOwners(): readonly string[] {
    const sizes = new Map<string, number>();
    for (const queue of this.#queues.values()) {
      sizes.set(queue.owner, (sizes.get(queue.owner) ?? 0) + sizeOf(queue));
    }
    const { share } = this;
    return [...sizes].filter(([, size]) => size >= share).map(([owner]) => owner);
  }

  /** Starts as many attempts as the breaker allows. */
  #start(queue: EndpointQueue<T>): void {
    if (this.#isStopped) return;
    const allowed = allowedConcurrentAttempts(queue.breaker, this.#options.monotonic());
    if (allowed === 0) queue.waiting = [];
    for (const work of queue.waiting.splice(0, Math.max(0, allowed - queue.running))) {
      queue.running += 1;
      const done = this.#run(queue, work).finally(() => this.#running.delete(done));
      this.#running.add(done);
    }
  }

  async #run(queue: EndpointQueue<T>, work: T): Promise<void> {
    const { attempt, onCapacity, monotonic } = this.#options;
    const isProbe = queue.breaker.pauses > 0;
    const outcome = await attempt(work);
    const now = monotonic();
    const wasFull = isFull(queue, now) || this.capacity === 0;
    const fullOwners = this.#fullOwners().length;
    queue.running -= 1;
    queue.lastEndedAt = now;
    if (outcome === "success") queue.breaker = CLOSED_BREAKER;
    if (outcome === "failure") queue.breaker = breakerAfterFailure(queue.breaker, { isProbe, now });
    this.#start(queue);
    if (wasFull || this.#fullOwners().length < fullOwners) onCapacity();
  }
}

function newQueue<T>(owner: string, now: number): EndpointQueue<T> {
  return { owner, breaker: CLOSED_BREAKER, running: 0, waiting: [], lastEndedAt: now };
}

function totalSize(queues: Iterable<EndpointQueue<unknown>>): number {
  return [...queues].reduce((sum, queue) => sum + sizeOf(queue), 0);
}

function sizeOf({ running, waiting }: EndpointQueue<unknown>): number {
  return running + waiting.length;
}

function isFull(queue: EndpointQueue<unknown>, now: number): boolean {
  return sizeOf(queue) >= allowedConcurrentAttempts(queue.breaker, now);
}
