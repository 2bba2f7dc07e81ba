import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { Problem } from "../lib/problem.ts";
import { networkOf } from "../limits/address-key.ts";
import { sendProblem } from "./errors.ts";
import { takeTurnAtEnd } from "./late-body.ts";
import { LoopTurns } from "./loop-turns.ts";
import { clientAddress } from "./request-context.ts";
import { createRequestQueue, hasBody, type RequestQueue } from "./request-queue.ts";
import { createSocketPause } from "./socket-pause.ts";
import { type WorkTurns, workTurns } from "./work-turns.ts";

/**
 * Cost class of a request: `vital` for health checks, `quick` for responses from memory, `slow` for
 * work that takes several times as long.
 */
export type CostClass = "vital" | "quick" | "slow";

/**
 * Number of quick requests started per slow request while both kinds wait. A slow request takes as
 * long as 2 to 9 quick ones (measured with tokens and signals), so quick requests get about half of
 * the time.
 */
const QUICK_PER_SLOW = 8;

/**
 * Time for which each turn of the event loop starts requests, in milliseconds. It is long enough
 * for the writes of several requests to share a group commit, and short enough for new connections
 * to be accepted soon.
 */
const TURN_MS = 5;

/** Maximum number of quick and slow requests started from the queues per turn. */
const STARTS_PER_TURN = 8;

/** Delay before checking again whether a waiting request can start, in milliseconds. */
const RECHECK_MS = 5;

/**
 * Paths of health checks. They start before all other requests, and are rejected only when hundreds
 * of them wait.
 */
const VITAL: ReadonlySet<string> = new Set(["/api/health", "/livez", "/readyz"]);

/**
 * Matches URLs that request a page of 100 or more items, or a table format; also URLs with a
 * percent escape, which could hide such a parameter.
 */
const LARGE_PAGE = /[?&](?:limit|last)=(?!\d{1,2}(?:&|$))|[?&]format=(?!json)|%/;

/**
 * Matches the pages of the market that are rendered, other than the home page that all visitors
 * without an account share: those of an instrument, and what a filter finds.
 */
const RENDERED_PAGE = /^\/(?:\?|market\/)/i;

/** Matches the `Accept` field of a request for a table. */
const TABLE_TYPE = /\btext\/csv\b/i;

/**
 * Matches request targets that can be quick: paths other than those of OAuth and the export, in any
 * letter case.
 */
const PLAIN_PATH = /^\/(?!oauth\/|api\/export\b)/i;

/**
 * Value of `Retry-After` for rejected requests, in seconds. The connection is not read during this
 * time: a rejection takes a third of the CPU time of a response (measured), so immediate retries
 * would use up all capacity.
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
  /**
   * Number of trusted reverse proxies. A connection from a proxy carries requests of many clients.
   */
  readonly proxyHops: number;
  /** Monotonic clock, in milliseconds. */
  readonly now: () => number;
  /** Called for each rejected request. */
  readonly onShed?: (effort: CostClass) => void;
  /** Turns in which requests start. Default: those of this process. */
  readonly work?: WorkTurns;
}

/**
 * Creates the load shedder: it admits requests as fast as they can be answered, and immediately
 * rejects those that would wait too long. Networks take turns, so that one that sends more than
 * can be answered does not delay the others.
 *
 * Most responses are limited by CPU time only. Without admission control, the process would handle
 * everything that has arrived before reading its sockets again, and the queue would grow in the
 * kernel, where it cannot be measured. So each turn of the event loop starts requests for a few
 * milliseconds; requests that arrive in the meantime are queued here.
 */
export function createLoadShedder(options: LoadSheddingOptions): RequestListener {
  const { handle, now, onShed, proxyHops, work = workTurns } = options;
  // A connection from a proxy carries requests of other clients, so it is not paused.
  const pauseSocket = proxyHops === 0 ? createSocketPause(RETRY_AFTER_SECONDS * 1000) : () => {};
  const shed = (effort: CostClass, res: ServerResponse): void => {
    onShed?.(effort);
    // The socket is paused in a later turn: in this turn, Node.js still reads the rest of the
    // request and would resume the socket.
    res.once("close", () => setImmediate(pauseSocket, res.req.socket));
    sendProblem(res, OVERLOADED);
  };
  const turns = new LoopTurns(work);
  const queueOf = (effort: CostClass): RequestQueue =>
    createRequestQueue({
      now,
      start: ({ req, res, network }) => {
        handle(req, res);
        if (!hasBody(req)) return;
        // MCP messages always take a turn: two at a time leave less garbage and cost a fifth less
        // (measured). Slow requests take one only if their body comes after this turn, in which
        // Node.js still parses what it read with the header: writes that begin together share a
        // disk sync, without which a token costs a sixth more.
        if (effort === "slow") setImmediate(takeTurnAtEnd, req, turns, network);
        else takeTurnAtEnd(req, turns, network);
      },
      reject: ({ res }) => shed(effort, res),
    });
  const queues = { vital: queueOf("vital"), quick: queueOf("quick"), slow: queueOf("slow") };
  const { vital, quick, slow } = queues;
  const hasBlocked = () => vital.hasWaiting() || quick.hasWaiting() || slow.hasWaiting();
  const enqueue = createTurnScheduler({
    first: vital.startNext,
    next: createScheduler(queues),
    hasBlocked,
    now,
    work,
  });
  return (req, res) => {
    // What was read from a connection before it was closed; this is cheaper than a rejection.
    if (req.socket.destroyed) return;
    const effort = costClassOf(req);
    const queue = queues[effort];
    const network = networkOf(clientAddress(req, proxyHops));
    if (!queue.makeRoomFor(network)) return shed(effort, res);
    enqueue(() => queue.add({ req, res, network }));
  };
}

/**
 * Creates the function that starts the next quick or slow request, in the ratio `QUICK_PER_SLOW`.
 *
 * @returns A function that returns whether it started a request.
 */
function createScheduler({
  quick,
  slow,
}: Readonly<Record<"quick" | "slow", RequestQueue>>): () => boolean {
  let quickInARow = 0;
  const start = (queue: RequestQueue): boolean => {
    if (!queue.startNext()) return false;
    quickInARow = queue === quick ? quickInARow + 1 : 0;
    return true;
  };
  return () => {
    if (quickInARow < QUICK_PER_SLOW) return start(quick) || start(slow);
    return start(slow) || start(quick);
  };
}

interface Turns {
  /** Starts the next waiting health check. Returns whether a request was started. */
  readonly first: () => boolean;
  /**
   * Starts the next quick or slow request, if one can start. Returns whether a request was started.
   */
  readonly next: () => boolean;
  /** Whether any request is still waiting. */
  readonly hasBlocked: () => boolean;
  /** Monotonic clock, in milliseconds. */
  readonly now: () => number;
  readonly work: WorkTurns;
}

/**
 * Starts a request immediately if no other request waits and the current turn of the event loop
 * works and has time left; otherwise, a later turn starts it.
 *
 * @returns A function that enqueues a request.
 */
function createTurnScheduler({
  first,
  next,
  hasBlocked,
  now,
  work,
}: Turns): (add: () => void) => void {
  let hasTurn = false;
  let startedAt = 0;
  let recheckTimer: NodeJS.Timeout | undefined;

  const hasTime = (): boolean => now() - startedAt < TURN_MS;
  /**
   * Starts waiting requests, within the limits of a turn.
   *
   * @returns Whether any request was started.
   */
  const startBatch = (): boolean => {
    let times = 0;
    while (times < STARTS_PER_TURN) {
      const isVital = first();
      if (!next() && !isVital) break;
      times += 1;
      if (!hasTime()) break;
    }
    return times > 0;
  };
  const turn = (): void => {
    startedAt = now();
    hasTurn = startBatch();
    if (hasTurn) work.schedule(turn);
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
    if (!hasTurn) turn();
    else if (isAlone && !work.isAccepting && hasTime()) first() || next();
  };
}

function pathOf(url: string): string {
  const query = url.indexOf("?");
  return query < 0 ? url : url.slice(0, query);
}

/**
 * The cost class of a request. Signing, hashing, writes, rendered pages and large pages of
 * data are slow; all other responses come from memory and are quick.
 */
function costClassOf({ method, url = "", headers }: IncomingMessage): CostClass {
  if (VITAL.has(pathOf(url))) return "vital";
  const isRead =
    method === "GET" || method === "HEAD" || method === "OPTIONS" || pathOf(url) === "/mcp";
  const isLarge = LARGE_PAGE.test(url) || TABLE_TYPE.test(headers.accept ?? "");
  const isRendered = RENDERED_PAGE.test(url) || (url === "/" && headers.cookie !== undefined);
  return isRead && PLAIN_PATH.test(url) && !isLarge && !isRendered ? "quick" : "slow";
}
