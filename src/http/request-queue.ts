import type { IncomingMessage, ServerResponse } from "node:http";
import { NetworkSlots } from "../limits/network-slots.ts";
import { NetworkTurns } from "../limits/network-turns.ts";
import type { SharedCapacity } from "../limits/party-share.ts";

/**
 * Maximum expected wait, in milliseconds. If the expected wait is longer, new requests are
 * rejected. A thousand agents that call at the same instant are all answered (measured: 0.2 to 0.6
 * ms each).
 */
const MAX_EXPECTED_WAIT_MS = 1_500;

/**
 * Maximum actual wait, in milliseconds; it ends the wait of requests that were admitted because of
 * a wrong estimate.
 */
const MAX_WAIT_MS = 2 * MAX_EXPECTED_WAIT_MS;

/**
 * Number of requests that may wait whatever the expected wait, because an estimate based on few
 * requests is unreliable.
 */
const MIN_QUEUE_LENGTH = 100;

/**
 * Maximum number of waiting requests, regardless of their cost; a single connection can send
 * thousands.
 */
const MAX_WAITING = 5_000;

/**
 * Maximum number of requests in flight, so that they do not accumulate while the database does not
 * answer. CPU-bound requests finish before the next one starts. The total is more than the `fetches`
 * of all callers together, each of which holds a request while another host does not answer.
 */
const IN_FLIGHT: SharedCapacity = { total: 500, most: 200 };

/**
 * Number of requests in flight from which those that have been answered are searched for. So few
 * take no room that another request could need; more would be copied by each garbage collection.
 */
const SEARCHED_FROM = 4;

/**
 * Interval between searches for requests that have waited too long, in milliseconds, because each
 * looks at every network.
 */
const SEARCH_EVERY_MS = 50;

/** Weight of the newest value in the moving average of the time between two starts. */
const EWMA_WEIGHT = 1 / 64;
/**
 * Cap on the time between two starts in the moving average, in milliseconds: a longer time counts
 * as this value, so that a single pause of the machine does not cause hundreds of rejections.
 */
const MAX_INTERVAL_MS = 50;

/** A request with its response. */
interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** The network of the client (`networkOf`). */
  readonly network: string;
}

/** Dependencies of a request queue. */
interface RequestQueueOptions {
  /** Monotonic clock, in milliseconds. */
  readonly now: () => number;
  readonly start: (exchange: Exchange) => void;
  /**
   * Called for each waiting request that is not going to start: it has waited too long, or made room
   * for one of another network.
   */
  readonly reject: (exchange: Exchange) => void;
}

/** A queue of requests of one kind, in which networks take turns. */
export interface RequestQueue {
  /**
   * Makes room for one more request of a network. If too many wait already, the newest one of the
   * network of which most wait is rejected, so that a network of which none waits is admitted however
   * much others send.
   *
   * @returns Whether there is room; not if about as many wait of this network as of any other.
   */
  makeRoomFor(network: string): boolean;
  add(exchange: Exchange): void;
  /** Whether a request that has not waited too long is waiting. */
  hasWaiting(): boolean;
  /**
   * Starts the request whose turn it is, of the networks that may have one more in flight.
   *
   * @returns Whether a request was started.
   */
  startNext(): boolean;
}

/** Creates an empty queue. */
export function createRequestQueue({ now, start, reject }: RequestQueueOptions): RequestQueue {
  const waiting = new NetworkTurns<Exchange & { readonly since: number }>();
  const inFlight = createInFlight();
  /** Moving average of the time between two starts while other requests waited, in milliseconds. */
  let meanMs = 0;
  /**
   * Time of the last start by the monotonic clock, in milliseconds; `undefined` if no other
   * requests waited then.
   */
  let lastStartAt: number | undefined;
  let searchedAt = Number.NEGATIVE_INFINITY;

  const isFull = (): boolean => {
    const count = waiting.size;
    if (count < MIN_QUEUE_LENGTH) return false;
    return count >= MAX_WAITING || count * meanMs > MAX_EXPECTED_WAIT_MS;
  };
  const rejectStale = (): void => {
    const at = now();
    if (at - searchedAt < SEARCH_EVERY_MS) return;
    searchedAt = at;
    for (const stale of waiting.takeOldest(({ since }) => at - since >= MAX_WAIT_MS)) {
      if (!isGone(stale)) reject(stale);
    }
  };
  /** Removes the request whose turn it is, and those before it whose client has disconnected. */
  const takeNext = (): Exchange | undefined => {
    let next = waiting.take(inFlight.hasRoomFor);
    while (next !== undefined && isGone(next)) next = waiting.take(inFlight.hasRoomFor);
    return next;
  };
  const observe = (): void => {
    const at = now();
    if (lastStartAt !== undefined) {
      meanMs += (Math.min(at - lastStartAt, MAX_INTERVAL_MS) - meanMs) * EWMA_WEIGHT;
    }
    lastStartAt = waiting.size > 0 ? at : undefined;
  };
  return {
    makeRoomFor(network) {
      if (!isFull()) return true;
      const surplus = waiting.makeRoomFor(network);
      if (surplus === undefined) return false;
      reject(surplus);
      return true;
    },
    add: ({ req, res, network }) => waiting.add(network, { req, res, network, since: now() }),
    hasWaiting() {
      if (waiting.size === 0) return false;
      rejectStale();
      return waiting.size > 0;
    },
    startNext() {
      if (waiting.size === 0) return false;
      rejectStale();
      inFlight.forgetAnswered();
      const next = takeNext();
      if (next === undefined) return false;
      observe();
      start(next);
      inFlight.add(next);
      return true;
    },
  };
}

const isGone = ({ req }: Exchange): boolean => req.socket.destroyed;

/**
 * Counts requests in flight. A request is in flight from the end of its body until its response
 * begins, so that slow senders, slow readers and streams do not count.
 */
function createInFlight() {
  const slots = new NetworkSlots(IN_FLIGHT);
  // An array instead of a Set: the internal tables of a Set that grows and shrinks reference each
  // other and would keep all their responses alive until the next full garbage collection.
  const unanswered: Exchange[] = [];
  const enter = (exchange: Exchange): void => {
    slots.enter(exchange.network);
    unanswered.push(exchange);
  };
  return {
    add(exchange: Exchange): void {
      const { req } = exchange;
      if (hasBody(req)) req.once("end", () => enter(exchange));
      else enter(exchange);
    },
    forgetAnswered(): void {
      if (unanswered.length < SEARCHED_FROM) return;
      let count = 0;
      for (const exchange of unanswered) {
        const { res, network } = exchange;
        if (res.headersSent || res.destroyed) slots.leave(network);
        else unanswered[count++] = exchange;
      }
      unanswered.length = count;
    },
    /** Whether one more request of a network may be in flight. */
    hasRoomFor: (network: string): boolean => slots.hasRoomFor(network),
  };
}

/** Whether a request has a body. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  (headers["content-length"] ?? "0") !== "0" || headers["transfer-encoding"] !== undefined;
