import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Problem } from "../problem.ts";
import { sendProblem } from "./errors.ts";
import { createRequestQueue, type RequestQueue } from "./request-queue.ts";

/** Cost class of a request: `vital` for health checks, `quick` for responses from memory, `slow`
 *  for work that costs several times as much. */
export type CostClass = "vital" | "quick" | "slow";

/** Quick requests started per slow one when both wait. A slow request takes as long as 2 to 9 quick
 *  ones (measured with tokens and signals), so quick ones get about half of the time. */
const QUICK_PER_SLOW = 8;

/** Time in which each turn of the event loop starts requests immediately, in milliseconds. Writes
 *  of several requests then share a group commit, and new connections are still accepted soon. */
const TURN_MS = 5;

/** Queued requests started per turn. */
const STARTS_PER_TURN = 8;

/** Maximum consecutive turns that only accept connections while requests wait. Accepting one takes
 *  0.1 to 0.2 ms (measured), so a flood of connections leaves time for requests. */
const MAX_ACCEPT_TURNS = 4;

/** Delay before checking again whether a request has finished, in milliseconds. */
const RECHECK_MS = 5;

/** Health checks start before all other requests, and are rejected only when hundreds of them
 *  wait. */
const VITAL: ReadonlySet<string> = new Set(["/api/health", "/livez", "/readyz"]);

/** A page of a hundred items or more, or a whole table, in any encoding. */
const LARGE_PAGE = /[?&](?:limit|last)=(?!\d{1,2}(?:&|$))|[?&]format=(?!json)|%/;

/** Matches the `Accept` field of a caller that asks for a table. */
const TABLE_TYPE = /\btext\/csv\b/i;

/** Matches paths that may be quick: no OAuth paths, no exports, and no unusual spellings. */
const PLAIN_PATH = /^\/(?!oauth\/|api\/export\b)/i;

/** `Retry-After` of rejected requests, in seconds. Until then the connection is not read: a
 *  rejection costs a third of a response (measured), so immediate retries would use up all
 *  capacity. */
const RETRY_AFTER_SECONDS = 3;

const OVERLOADED = new Problem("overloaded", {
  detail: "More requests wait than can be answered in time.",
  next: "Send the same request again after the time in Retry-After.",
  headers: { "Retry-After": String(RETRY_AFTER_SECONDS) },
});

/** Dependencies of the load shedder. */
export interface LoadSheddingOptions {
  readonly handle: (req: IncomingMessage, res: ServerResponse) => void;
  /** Number of reverse proxies. Behind a proxy, a connection carries requests of many clients. */
  readonly proxyHops: number;
  /** Monotonic clock, in milliseconds. */
  readonly now: () => number;
  /** Called for each rejected request. */
  readonly onShed?: (effort: CostClass) => void;
}

/**
 * Creates the load shedder: it admits requests as fast as they can be answered, and immediately
 * rejects those that would wait too long.
 *
 * Most responses are limited by CPU time only. Without admission control, the process would handle
 * everything that has arrived before reading its sockets again, and the queue would grow in the
 * kernel, where it cannot be measured. So each turn of the event loop starts requests for a few
 * milliseconds; requests that arrive in the meantime are queued here.
 */
export function createLoadShedder(options: LoadSheddingOptions): RequestListener {
  const { handle, now, onShed, proxyHops } = options;
  // A connection from a proxy carries requests of other clients, so it is not paused.
  const pauseSocket = proxyHops === 0 ? createSocketPause() : () => {};
  const shed = (effort: CostClass, res: ServerResponse): void => {
    onShed?.(effort);
    // Node.js reads the rest of the request in this turn, and would resume the socket.
    res.once("close", () => setImmediate(pauseSocket, res.req.socket));
    sendProblem(res, OVERLOADED);
  };
  const queueOf = (effort: CostClass): RequestQueue =>
    createRequestQueue({
      now,
      start: ({ req, res }) => handle(req, res),
      onExpired: ({ res }) => shed(effort, res),
    });
  const queues = { vital: queueOf("vital"), quick: queueOf("quick"), slow: queueOf("slow") };
  const hasBlocked = () => Object.values(queues).some((queue) => queue.hasWaiting());
  const enqueue = createTurnScheduler({
    first: queues.vital.startNext,
    next: createScheduler(queues),
    hasBlocked,
    now,
  });
  return (req, res) => {
    const effort = costClassOf(req);
    const queue = queues[effort];
    if (queue.isFull()) return shed(effort, res);
    enqueue(() => queue.add({ req, res }));
  };
}

/**
 * Pauses a socket for a while, so that data waits in the kernel. Node.js resumes reading as soon as the
 * pending responses are sent.
 */
function createSocketPause(): (socket: Socket) => void {
  const paused = new WeakSet<Socket>();
  return (socket) => {
    if (paused.has(socket)) return;
    paused.add(socket);
    const pause = () => void socket.pause();
    const resume = () => {
      paused.delete(socket);
      socket.off("resume", pause).resume();
    };
    socket.on("resume", pause).pause();
    setTimeout(resume, RETRY_AFTER_SECONDS * 1000).unref();
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
    const begun = queues.find((queue) => queue.startNext());
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
 * Starts requests immediately early in a turn of the event loop, and continues in later turns while
 * requests wait. Node.js accepts one connection per turn, so turns without other work follow while
 * clients connect.
 *
 * @returns A function that enqueues a request.
 */
function createTurnScheduler({ first, next, hasBlocked, now }: Turns): (add: () => void) => void {
  let hasTurn = false;
  let startedAt = 0;
  let hasArrivals = false;
  let acceptTurns = 0;
  let recheckTimer: NodeJS.Timeout | undefined;

  const hasTime = (): boolean => now() - startedAt < TURN_MS;
  /** @returns Whether a request was waiting. */
  const startBatch = (): boolean => {
    let times = 0;
    while (times < STARTS_PER_TURN && [first(), next()].includes(true)) {
      times += 1;
      if (!hasTime()) break;
    }
    return times > 0;
  };
  const turn = (): void => {
    startedAt = now();
    acceptTurns = hasArrivals ? acceptTurns + 1 : 0;
    hasArrivals = false;
    if (acceptTurns > 0 && acceptTurns <= MAX_ACCEPT_TURNS) {
      first();
      hasTurn = true;
    } else {
      acceptTurns = 0;
      hasTurn = startBatch();
    }
    if (hasTurn) setImmediate(turn);
    else if (recheckTimer === undefined && hasBlocked())
      recheckTimer = setTimeout(recheck, RECHECK_MS);
  };
  const recheck = (): void => {
    recheckTimer = undefined;
    if (!hasTurn) turn();
  };
  return (add) => {
    const isAlone = !hasBlocked();
    add();
    if (!hasTurn) return turn();
    if (isAlone && hasTime() && (first() || next())) return;
    hasArrivals = true;
  };
}

function pathOf(url: string): string {
  const query = url.indexOf("?");
  return query < 0 ? url : url.slice(0, query);
}

/** The cost class of a request. Signing, hashing, writes and large pages are slow; everything else
 *  is read from memory. */
function costClassOf({ method, url = "", headers }: IncomingMessage): CostClass {
  if (VITAL.has(pathOf(url))) return "vital";
  const isRead =
    method === "GET" || method === "HEAD" || method === "OPTIONS" || pathOf(url) === "/mcp";
  const isLarge = LARGE_PAGE.test(url) || TABLE_TYPE.test(headers.accept ?? "");
  return isRead && PLAIN_PATH.test(url) && !isLarge ? "quick" : "slow";
}
