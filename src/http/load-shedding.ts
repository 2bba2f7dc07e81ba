import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Problem } from "../problem.ts";
import { sendProblem } from "./errors.ts";
import { createRequestQueue, type RequestQueue } from "./request-queue.ts";

/** What a request asks for: a word on how the process is, an answer that is at hand, or work that
 *  costs several times as much. */
export type Effort = "vital" | "quick" | "slow";

/** Quick requests that are begun for each slow one while both wait: at worst a slow one takes about as
 *  long (measured: a token as long as 2 to 9 signals), so that quick ones get half of the time. */
const QUICK_PER_SLOW = 8;

/** What comes in a turn of the event loop is begun at once until the turn has lasted so long, in
 *  milliseconds: writes of many requests then reach the disk together, and nobody waits for long to be
 *  seen. */
const TURN_MS = 5;

/** Of those that wait, so many are begun in a turn. */
const BEGUN_TOGETHER = 8;

/** Turns in which it is only listened to who comes, at most, between two in which what waits is begun.
 *  To let somebody in takes 0.1 to 0.2 ms (measured): so a flood of connections leaves time for work. */
const MAX_LISTENING = 4;

/** Pause before it is looked again whether something under way has ended, in milliseconds. */
const LOOK_AGAIN_MS = 5;

/** These tell operators and load balancers how the process is. Nothing is begun before them; and only
 *  where hundreds of them wait is one refused. */
const VITAL: ReadonlySet<string> = new Set(["/api/health", "/livez", "/readyz"]);

/** Maybe a page of a hundred items or more, however it is spelled. */
const WIDE_PAGE = /[?&]limit=(?!\d{1,2}(?:&|$))|%/;

/** What is not plainly a path is worth no haste. */
const PLAIN_PATH = /^\/(?!oauth\/)/i;

/** Whoever is refused is told to wait so long, in seconds, and not listened to before. To refuse takes
 *  a third of the time of an answer (measured): who asks again at once would in the end leave no time
 *  for anything else. */
const REST_SECONDS = 3;

const OVERLOADED = new Problem("overloaded", {
  detail: "More requests wait than can be answered in time.",
  next: "Send the same request again after the time in Retry-After.",
  headers: { "Retry-After": String(REST_SECONDS) },
});

/** What requests are let in to. */
export interface LoadSheddingOptions {
  readonly handle: (req: IncomingMessage, res: ServerResponse) => void;
  /** Reverse proxies in front: their connections bring requests of everybody. */
  readonly proxyHops: number;
  /** Monotonic clock, in milliseconds. */
  readonly now: () => number;
  /** Told of each request that was refused. */
  readonly onShed?: (effort: Effort) => void;
}

/**
 * Lets requests in as fast as they can be answered, and refuses at once what would wait too long.
 *
 * Most answers wait for nothing but the processor. Left alone, the process would work off whatever
 * has arrived before it looks at its sockets again, and the queue would stand in the system, where
 * nobody sees it. So in each turn of the event loop requests are begun for some milliseconds; those
 * that came beside them wait here, where they can be counted.
 */
export function createLoadShedder(options: LoadSheddingOptions): RequestListener {
  const { handle, now, onShed, proxyHops } = options;
  // What a proxy brings next is somebody else's.
  const rest = proxyHops === 0 ? createRest() : () => {};
  const shed = (effort: Effort, res: ServerResponse): void => {
    onShed?.(effort);
    // In this turn, Node.js reads the rest of the request, and would go on.
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
  const isWaited = () => Object.values(queues).some((queue) => queue.hasWaiting());
  const come = eachTurn({
    first: queues.vital.beginNext,
    next: alternating(queues),
    isWaited,
    now,
  });
  return (req, res) => {
    const effort = effortOf(req);
    const queue = queues[effort];
    if (queue.isFull()) return shed(effort, res);
    come(() => queue.add({ req, res }));
  };
}

/** Leaves what comes on a connection in the hands of the system for a while. Node.js would listen again
 *  as soon as the answers to what came before are sent. */
function createRest(): (socket: Socket) => void {
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
    setTimeout(goOn, REST_SECONDS * 1000).unref();
  };
}

/** Begins the next quick or slow request. @returns Whether there was one to begin. */
function alternating({
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
  /** Begins something, if there is something, whatever else is under way. */
  readonly first: () => boolean;
  /** The same while there is time for it. */
  readonly next: () => boolean;
  /** Whether there is something that cannot be begun yet. */
  readonly isWaited: () => boolean;
  /** Monotonic clock, in milliseconds. */
  readonly now: () => number;
}

/**
 * Begins at once what comes alone while the turn of the event loop is young, and goes on from turn to
 * turn as long as something waits. Of those who connect, one is let in by Node.js in a turn: so while
 * they come, turns with nothing else follow.
 *
 * @returns Takes what is new.
 */
function eachTurn({ first, next, isWaited, now }: Turns): (add: () => void) => void {
  let isTurnTaken = false;
  let startedAt = 0;
  let isHeard = false;
  let listening = 0;
  let looking: NodeJS.Timeout | undefined;

  const hasTime = (): boolean => now() - startedAt < TURN_MS;
  /** @returns Whether there was something to begin. */
  const beginSome = (): boolean => {
    let times = 0;
    while (times < BEGUN_TOGETHER && [first(), next()].includes(true)) {
      times += 1;
      if (!hasTime()) break;
    }
    return times > 0;
  };
  const turn = (): void => {
    startedAt = now();
    listening = isHeard ? listening + 1 : 0;
    isHeard = false;
    if (listening > 0 && listening <= MAX_LISTENING) {
      first();
      isTurnTaken = true;
    } else {
      listening = 0;
      isTurnTaken = beginSome();
    }
    if (isTurnTaken) setImmediate(turn);
    else if (looking === undefined && isWaited()) looking = setTimeout(lookAgain, LOOK_AGAIN_MS);
  };
  const lookAgain = (): void => {
    looking = undefined;
    if (!isTurnTaken) turn();
  };
  return (add) => {
    const isAlone = !isWaited();
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

/** Signing, hashing and writing are slow, and so are wide pages; all else is read from memory. */
function effortOf({ method, url = "" }: IncomingMessage): Effort {
  if (VITAL.has(pathOf(url))) return "vital";
  const isRead =
    method === "GET" || method === "HEAD" || method === "OPTIONS" || pathOf(url) === "/mcp";
  return isRead && PLAIN_PATH.test(url) && !WIDE_PAGE.test(url) ? "quick" : "slow";
}
