import type { ServerResponse } from "node:http";
import { type Caller, callerKey } from "../access/caller.ts";
import type { StartLoop } from "../lib/loop.ts";
import { Problem } from "../lib/problem.ts";
import { partyAt } from "../limits/address-key.ts";
import type { LimitLevel } from "../limits/admission.ts";
import { concurrencyClasses, type LimitNumbers } from "../limits/classes.ts";
import { Concurrency } from "../limits/concurrency.ts";
import type { RequestContext } from "./request-context.ts";

/**
 * Interval between checks of a caller's credential, in milliseconds. When a credential ends, its
 * streams close within half a second, or within a second and a half if the announcement was lost.
 * Most checks are answered from a cache.
 */
const CHECK_INTERVAL_MS = 500;

/**
 * Values of `Retry-After`, in seconds. `tooMany` leaves time for a stream to close; `stopping` is
 * short, because the client then reaches another process.
 */
const RETRY_SECONDS = { tooMany: "10", stopping: "1" };

/** Registry of open streaming responses. */
export interface OpenStreams {
  /**
   * Tracks an open response, and ends it when the caller's credential ends. The server disconnects
   * a client that does not read (`createBoundedServer`).
   *
   * @param end Ends the response normally; a response that is still open at the next check is
   * destroyed.
   * @throws {Problem} `rate_limited` if the caller, their person, their network or all callers
   * together have too many streams; `not_ready` during shutdown.
   */
  track(context: RequestContext, caller: Caller, end: () => void): void;
  /** Number of open streams. */
  readonly size: number;
  /** Ends all streams and their connections, so that clients reconnect to another process. New
   *  streams are rejected. */
  close(): void;
}

/**
 * Creates the registry of open streams. If an error prevents the lookup of a credential, the
 * streams of that credential stay open.
 *
 * @param most Default: the numbers of the class `streams`.
 */
export function createOpenStreams(
  repeat: StartLoop,
  most: LimitNumbers = concurrencyClasses.streams,
): OpenStreams {
  const open = new Map<ServerResponse, () => void>();
  const underWay = new Concurrency(most);
  let isClosed = false;
  return {
    track(context, caller, end) {
      const { res } = context;
      // `close` was already emitted if the client disconnected while the response was prepared.
      if (res.destroyed) return;
      if (isClosed) throw stopping();
      const party = partyAt(context.ip, callerKey(caller));
      const level = underWay.refusing(party);
      if (level !== undefined) throw tooMany(level, most);
      const leave = underWay.enter(party);
      const endStream = endOrDestroy(res, end);
      open.set(res, endStream);
      const looking = repeat(async () => {
        if (isClosed || !(await context.isStillValid())) endStream();
        return 0;
      }, CHECK_INTERVAL_MS);
      res.once("close", () => {
        open.delete(res);
        leave();
        void looking.stop();
      });
    },
    get size() {
      return open.size;
    },
    close() {
      isClosed = true;
      for (const [res, end] of open) {
        const { socket } = res;
        res.once("finish", () => socket?.end());
        end();
      }
    },
  };
}

/**
 * Creates a function that ends the response when called first, and destroys the response when
 * called again, in case the client does not read.
 */
function endOrDestroy(res: ServerResponse, end: () => void): () => void {
  let isEnding = false;
  return () => {
    if (isEnding) res.destroy();
    else end();
    isEnding = true;
  };
}

/** Who has as many streams as allowed, by the number that refuses one more. */
const HOLDERS = {
  caller: "You have",
  network: "Your network has",
  total: "All callers have",
} as const;

const tooMany = (level: LimitLevel, most: LimitNumbers): Problem =>
  new Problem("rate_limited", {
    detail: `${HOLDERS[level]} ${most[level]} streams open already.`,
    next: "Close one of yours, or try again later.",
    headers: { "Retry-After": RETRY_SECONDS.tooMany },
  });

const stopping = (): Problem =>
  new Problem("not_ready", {
    detail: "The service is stopping.",
    next: "Connect again.",
    headers: { "Retry-After": RETRY_SECONDS.stopping },
  });
