import type { ServerResponse } from "node:http";
import { type Caller, callerKey } from "../access/caller.ts";
import type { StartLoop } from "../lib/loop.ts";
import { Problem } from "../lib/problem.ts";
import { widestNetwork } from "../limits/address-key.ts";
import { partyShare } from "../limits/share.ts";
import type { RequestContext } from "./request-context.ts";

/**
 * Interval between checks of a caller's credential, in milliseconds. When a credential ends, its
 * streams close within half a second, or within a second and a half if the change notice was lost.
 * Most checks are answered from a cache.
 */
const CHECK_INTERVAL_MS = 500;

/**
 * Number of consecutive checks without progress after which a stream is closed; they take half a
 * minute, to tolerate slow networks.
 */
const MAX_STALLED_CHECKS = 60;

/**
 * Maximum numbers of open streams in one process: per caller; per person, across all clients,
 * agents and keys; in total; and for all unclaimed agents together, so that they cannot block other
 * callers.
 */
const MAX_PER_CALLER = 5;
const MAX_PER_ACCOUNT = 50;
const MAX_TOTAL = 500;
const MAX_UNCLAIMED = 100;

/**
 * Maximum share of an account's streams that one application and the agents that it claimed can
 * have while no other caller of the account has streams. As others open streams, the share shrinks.
 */
const APPLICATION_SHARE = 1 / 2;

/**
 * Maximum share of all streams, and of the unclaimed agents' streams, that one network (/32 of
 * IPv6, /24 of IPv4) can have while no other network has streams. The limit is per network because
 * one network can have many addresses and credentials. As others open streams, the share shrinks.
 */
const NETWORK_SHARE = 1 / 2;

/**
 * Values of `Retry-After`, in seconds. `tooMany` leaves time for a stream to close; `stopping` is
 * short, because the client then reaches another process.
 */
const RETRY_SECONDS = { tooMany: "10", stopping: "1" };

/** Registry of open streaming responses. */
export interface OpenStreams {
  /**
   * Tracks an open response, and ends it when its caller stops reading or the caller's credential
   * ends.
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

/** An open stream. */
interface OpenStream {
  readonly caller: string;
  /** The account that owns the caller; `undefined` for unclaimed agents. */
  readonly accountId: string | undefined;
  /** Client or agent of the caller, as in `Caller.application`. */
  readonly application: string | undefined;
  /** The widest network of the caller's address. */
  readonly network: string;
  /** Whether the caller is an unclaimed agent. */
  readonly isUnclaimed: boolean;
  /** Ends the stream; a second call destroys it. */
  end(): void;
}

/**
 * Creates the registry of open streams. If an error prevents the lookup of a credential, the
 * streams of that credential stay open.
 */
export function createOpenStreams(repeat: StartLoop): OpenStreams {
  const open = new Map<ServerResponse, OpenStream>();
  let isClosed = false;
  return {
    track(context, caller, end) {
      const { res } = context;
      // `close` was already emitted if the client disconnected while the response was prepared.
      if (res.destroyed) return;
      if (isClosed) throw stopping();
      const stream = { ...ownerOf(context, caller), end: endOrDestroy(res, end) };
      checkLimits([...open.values()], stream);
      open.set(res, stream);
      const isStuck = createStallCheck(res);
      const looking = repeat(async () => {
        if (isStuck()) res.destroy();
        else if (isClosed || !(await context.isStillValid())) stream.end();
        return 0;
      }, CHECK_INTERVAL_MS);
      res.once("close", () => {
        open.delete(res);
        void looking.stop();
      });
    },
    get size() {
      return open.size;
    },
    close() {
      isClosed = true;
      for (const [res, { end }] of open) {
        const { socket } = res;
        res.once("finish", () => socket?.end());
        end();
      }
    },
  };
}

type StreamOwner = Omit<OpenStream, "end">;

function ownerOf({ ip }: RequestContext, caller: Caller): StreamOwner {
  const { kind, accountId, application } = caller;
  const isUnclaimed = kind === "agent" && accountId === undefined;
  const network = widestNetwork(ip);
  return { caller: callerKey(caller), accountId, application, network, isUnclaimed };
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

/**
 * Creates a check that returns whether the client has read nothing during the last
 * `MAX_STALLED_CHECKS` checks.
 */
function createStallCheck(res: ServerResponse): () => boolean {
  let looks = 0;
  return () => {
    looks = res.writableNeedDrain ? looks + 1 : 0;
    return looks > MAX_STALLED_CHECKS;
  };
}

/** Checks the limits for one more stream. @throws {Problem} `rate_limited` */
function checkLimits(open: readonly OpenStream[], listener: StreamOwner): void {
  const { caller, isUnclaimed } = listener;
  const ofOne = open.filter((stream) => stream.caller === caller);
  if (ofOne.length >= MAX_PER_CALLER)
    throw tooMany(`You have ${MAX_PER_CALLER} streams open already.`);
  checkAccountLimit(open, listener);
  checkGroupLimit({ most: MAX_TOTAL, of: "all callers" }, open, listener);
  if (!isUnclaimed) return;
  const ofUnclaimed = open.filter((stream) => stream.isUnclaimed);
  const bound = { most: MAX_UNCLAIMED, of: "unclaimed agents" };
  checkGroupLimit(bound, ofUnclaimed, listener);
}

/** Checks the limit of an account, and one application's share of it. @throws {Problem}
 *  `rate_limited` */
function checkAccountLimit(
  open: readonly OpenStream[],
  { accountId, application }: StreamOwner,
): void {
  if (accountId === undefined) return;
  const ofAccount = open.filter((stream) => stream.accountId === accountId);
  const left = MAX_PER_ACCOUNT - ofAccount.length;
  if (left <= 0) {
    throw tooMany(
      `Your account has ${MAX_PER_ACCOUNT} streams open, with all its agents and keys.`,
    );
  }
  if (application === undefined) return;
  const own = ofAccount.filter((stream) => stream.application === application).length;
  const most = MAX_PER_ACCOUNT * APPLICATION_SHARE;
  if (own >= partyShare({ total: MAX_PER_ACCOUNT, most }, left)) {
    throw tooMany(`Your application has ${own} streams open, with the agents that it claimed.`);
  }
}

/** A limit on a group of streams. */
interface StreamLimit {
  readonly most: number;
  readonly of: string;
}

/** Checks the limit of a group, and one network's share of it. @throws {Problem} `rate_limited` */
function checkGroupLimit(
  { most, of }: StreamLimit,
  open: readonly OpenStream[],
  { network }: StreamOwner,
): void {
  if (open.length >= most) throw tooMany(`${most} streams of ${of} are open.`);
  const ofNetwork = open.filter((stream) => stream.network === network).length;
  const share = partyShare({ total: most, most: most * NETWORK_SHARE }, most - open.length);
  if (ofNetwork >= share)
    throw tooMany(`${ofNetwork} streams of ${of} are open from your network.`);
}

const tooMany = (detail: string): Problem =>
  new Problem("rate_limited", {
    detail,
    next: "Close one of yours, or try again later.",
    headers: { "Retry-After": RETRY_SECONDS.tooMany },
  });

const stopping = (): Problem =>
  new Problem("not_ready", {
    detail: "The service is stopping.",
    next: "Connect again.",
    headers: { "Retry-After": RETRY_SECONDS.stopping },
  });
