import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Problem } from "../problem.ts";
import { sendProblem } from "./errors.ts";
import { createRequestQueue, type RequestQueue } from "./request-queue.ts";

/**
 * Cost of a request: `vital` for health checks, `quick` for results that are in memory, `slow` for work
 * that costs several times as much.
 */
export type Effort = "vital" | "quick" | "slow";

/**
 * Quick requests started per slow one while both wait. A slow one takes as long as 2 to 9 quick ones
 * (measured with tokens and signals), so quick ones get about half of the time.
 */
const QUICK_PER_SLOW = 8;

/**
 * In each turn of the event loop, requests start immediately for this many milliseconds: writes of
 * several requests then share a group commit, and new connections are still accepted soon.
 */
const TURN_MS = 5;

/** Queued requests started per turn. */
const STARTS_PER_TURN = 8;

/**
 * Maximum consecutive turns that only accept connections while requests wait. Accepting one takes 0.1
 * to 0.2 ms (measured), so a flood of connections leaves time for work.
 */
const MAX_ACCEPT_TURNS = 4;

/** Delay before checking again whether a request has finished, in milliseconds. */
const RECHECK_MS = 5;

/** Health checks start before everything else, and are rejected only when hundreds of them wait. */
const VITAL: ReadonlySet<string> = new Set(["/api/health", "/livez", "/readyz"]);

/** A page of a hundred items or more, in any encoding. */
const WIDE_PAGE = /[?&]limit=(?!\d{1,2}(?:&|$))|%/;

/** OAuth paths and unusually written paths have no priority. */
const PLAIN_PATH = /^\/(?!oauth\/)/i;

/**
 * `Retry-After` of rejected requests, in seconds; the connection is not read before. A rejection costs
 * a third of a response (measured), so immediate retries would consume all capacity.
 */
const RETRY_AFTER_SECONDS = 3;

const OVERLOADED = new Problem("overloaded", {
  detail: "More requests wait than can be answered in time.",
  next: "Send the same request again after the time in Retry-After.",
  headers: { "Retry-After": String(RETRY_AFTER_SECONDS) },
});

/** Dependencies of the load shedder. */
export interface LoadSheddingOptions {
  readonly handle: (req: IncomingMessage, res: ServerResponse) => void;
  /** Number of reverse proxies in front; behind one, a connection carries requests of many clients. */
  readonly proxyHops: number;
  /** Monotonic clock, in milliseconds. */
  readonly now: () => number;
  /** Called for each rejected request. */
  readonly onShed?: (effort: Effort) => void;
}

/**
 * Admits requests as fast as they can be answered, and immediately rejects those that would wait too
 * long.
 *
 * Most responses are limited by CPU time only. Without admission control, the process would work
 * through everything that has arrived before reading its sockets again, and the queue would grow in the
 * kernel, where it cannot be measured. So each turn of the event loop starts requests for a few
 * milliseconds; requests that arrive meanwhile wait in a queue here.
 */
export function createLoadShedder(options: LoadSheddingOptions): RequestListener {
  const { handle, now, onShed, proxyHops } = options;
  // A connection from a proxy carries requests of other clients, so it is not paused.
  const rest = proxyHops === 0 ? createSocketPause() : () => {};
  const shed = (effort: Effort, res: ServerResponse): void => {
    onShed?.(effort);
    // Node.js reads the rest of the request in this turn, and would resume the socket.
    res.once("close", () => setImmediate(rest, res.req.socket));
    sendProblem(res, OVERLOADED);
  };
  const queueOf = (effort: Effort): RequestQueue =>
    createRequestQueue({
      now,
      begin: ({ req, res }) => handle(req, res),
      onExpired: ({ res }) => shed(effort, res),
    });
  const queues = { vital: queueOf("vital"), quick: queueOf("quick"), slow: queueOf("slow") };
  const hasBlocked = () => Object.values(queues).some((queue) => queue.hasWaiting());
  const come = eachTurn({
    first: queues.vital.beginNext,
    next: createScheduler(queues),
    hasBlocked,
    now,
  });
  return (req, res) => {
    const effort = effortOf(req);
    const queue = queues[effort];
    if (queue.isFull()) return shed(effort, res);
    come(() => queue.add({ req, res }));
  };
}

/**
 * Pauses a socket for a while, so that data waits in the kernel. Node.js resumes reading as soon as the
 * pending responses are sent.
 */
function createSocketPause(): (socket: Socket) => void {
  const resting = new WeakSet<Socket>();
  return (socket) => {
    if (resting.has(socket)) return;
    resting.add(socket);
    const pause = () => void socket.pause();
    const goOn = () => {
      resting.delete(socket);
      socket.off("resume", pause).resume();
    };
    socket.on("resume", pause).pause();
    setTimeout(goOn, RETRY_AFTER_SECONDS * 1000).unref();
  };
}

/**
 * Starts the next quick or slow request.
 *
 * @returns Whether one was waiting.
 */
function createScheduler({
  quick,
  slow,
}: Readonly<Record<"quick" | "slow", RequestQueue>>): () => boolean {
  let quickInARow = 0;
  return () => {
    const queues = quickInARow < QUICK_PER_SLOW ? [quick, slow] : [slow, quick];
    const begun = queues.find((queue) => queue.beginNext());
    quickInARow = begun === quick ? quickInARow + 1 : 0;
    return begun !== undefined;
  };
}

interface Turns {
  /** Starts a request if one waits, regardless of how many are in flight. */
  readonly first: () => boolean;
  /** Starts a request while there is time. */
  readonly next: () => boolean;
  /** Whether a request waits that cannot start yet. */
  readonly hasBlocked: () => boolean;
  /** Monotonic clock, in milliseconds. */
  readonly now: () => number;
}

/**
 * Starts requests immediately early in a turn of the event loop, and continues from turn to turn while
 * requests wait. Node.js accepts one connection per turn, so while clients connect, turns without other
 * work follow.
 *
 * @returns A function that enqueues a request.
 */
function eachTurn({ first, next, hasBlocked, now }: Turns): (add: () => void) => void {
  let isTurnTaken = false;
  let startedAt = 0;
  let isHeard = false;
  let listening = 0;
  let looking: NodeJS.Timeout | undefined;

  const hasTime = (): boolean => now() - startedAt < TURN_MS;
  /** @returns Whether a request was waiting. */
  const beginSome = (): boolean => {
    let times = 0;
    while (times < STARTS_PER_TURN && [first(), next()].includes(true)) {
      times += 1;
      if (!hasTime()) break;
    }
    return times > 0;
  };
  const turn = (): void => {
    startedAt = now();
    listening = isHeard ? listening + 1 : 0;
    isHeard = false;
    if (listening > 0 && listening <= MAX_ACCEPT_TURNS) {
      first();
      isTurnTaken = true;
    } else {
      listening = 0;
      isTurnTaken = beginSome();
    }
    if (isTurnTaken) setImmediate(turn);
    else if (looking === undefined && hasBlocked()) looking = setTimeout(lookAgain, RECHECK_MS);
  };
  const lookAgain = (): void => {
    looking = undefined;
    if (!isTurnTaken) turn();
  };
  return (add) => {
    const isAlone = !hasBlocked();
    add();
    if (!isTurnTaken) return turn();
    if (isAlone && hasTime() && (first() || next())) return;
    isHeard = true;
  };
}

function pathOf(url: string): string {
  const query = url.indexOf("?");
  return query < 0 ? url : url.slice(0, query);
}

/** Signing, hashing, writes and large pages are slow; everything else is read from memory. */
function effortOf({ method, url = "" }: IncomingMessage): Effort {
  if (VITAL.has(pathOf(url))) return "vital";
  const isRead =
    method === "GET" || method === "HEAD" || method === "OPTIONS" || pathOf(url) === "/mcp";
  return isRead && PLAIN_PATH.test(url) && !WIDE_PAGE.test(url) ? "quick" : "slow";
}
