import type { IncomingMessage, ServerResponse } from "node:http";

/** A request is refused when it would have to wait longer than this, in milliseconds: a thousand
 *  agents that ask in the same instant are all answered (measured: 0.2 to 0.6 ms each). */
const MAX_EXPECTED_MS = 1_500;

/** What was let in on a wrong guess is refused when it has waited this long, in milliseconds. */
const MAX_WAITED_MS = 2 * MAX_EXPECTED_MS;

/** Requests that may wait in any case: a guess about few is not worth much. */
const ALWAYS_ROOM_FOR = 100;

/** Requests that wait at most, whatever they cost: one connection can bring thousands. */
const MAX_WAITING = 5_000;

/** Requests that are under way at most, so that a silent database does not collect them without
 *  end. What only computes is answered before the next is begun. */
const MAX_UNDER_WAY = 200;

/** Weight of the newest interval in the mean interval between two beginnings; and the longest that
 *  counts, in milliseconds, so that one pause of the whole machine does not refuse hundreds. */
const NEWEST = 1 / 64;
const LONGEST_MS = 50;

/** A request with its answer. */
interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
}

/** What a queue is made from. */
interface RequestQueueOptions {
  /** Monotonic clock, in milliseconds. */
  readonly now: () => number;
  readonly begin: (exchange: Exchange) => void;
  /** Told of each that has waited too long. */
  readonly onExpired: (exchange: Exchange) => void;
}

/** Requests of one kind, in the order in which they came. */
export interface RequestQueue {
  /** Whether one more would have to wait too long. */
  isFull(): boolean;
  add(exchange: Exchange): void;
  /** Whether any waits; whoever has gone or waited too long does not. */
  hasWaiting(): boolean;
  /** Begins the oldest. @returns Whether there was one, and few enough are under way. */
  beginNext(): boolean;
}

/** Makes an empty queue. */
export function createRequestQueue({ now, begin, onExpired }: RequestQueueOptions): RequestQueue {
  const waiting: (Exchange & { readonly since: number })[] = [];
  const underWay = createUnderWay();
  /** Mean time between two beginnings while others waited, in milliseconds. */
  let meanMs = 0;
  /** When the last was begun, if others waited then. */
  let begunAt: number | undefined;

  const dropStale = (): void => {
    for (let oldest = waiting[0]; oldest !== undefined; oldest = waiting[0]) {
      const isGone = oldest.req.socket.destroyed;
      if (!isGone && now() - oldest.since < MAX_WAITED_MS) return;
      waiting.shift();
      if (!isGone) onExpired(oldest);
    }
  };
  const observe = (): void => {
    const at = now();
    if (begunAt !== undefined) {
      meanMs += (Math.min(at - begunAt, LONGEST_MS) - meanMs) * NEWEST;
    }
    begunAt = waiting.length > 0 ? at : undefined;
  };
  return {
    isFull() {
      const count = waiting.length;
      if (count < ALWAYS_ROOM_FOR) return false;
      return count >= MAX_WAITING || count * meanMs > MAX_EXPECTED_MS;
    },
    add: ({ req, res }) => void waiting.push({ req, res, since: now() }),
    hasWaiting() {
      dropStale();
      return waiting.length > 0;
    },
    beginNext() {
      dropStale();
      const next = underWay.hasRoom() ? waiting.shift() : undefined;
      if (next === undefined) return false;
      observe();
      begin(next);
      underWay.add(next);
      return true;
    },
  };
}

/** Counts the requests that are under way. One is until its answer begins, so that nobody counts who
 *  reads slowly or listens to a stream; and from when its body is there, so that nobody counts who
 *  sends slowly. */
function createUnderWay() {
  // A Set that shrinks and grows leaves tables that hold on to each other, and so to every answer in
  // them, until the next full collection of garbage.
  const answers: ServerResponse[] = [];
  return {
    add({ req, res }: Exchange): void {
      if (hasBody(req)) req.once("end", () => answers.push(res));
      else answers.push(res);
    },
    hasRoom(): boolean {
      let count = 0;
      for (const res of answers) if (!res.headersSent && !res.destroyed) answers[count++] = res;
      answers.length = count;
      return count < MAX_UNDER_WAY;
    },
  };
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  (headers["content-length"] ?? "0") !== "0" || headers["transfer-encoding"] !== undefined;
