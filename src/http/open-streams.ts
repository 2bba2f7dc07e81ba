import type { ServerResponse } from "node:http";
import type { Caller } from "../auth/caller.ts";
import type { Repeat } from "../lib/loop.ts";
import { widestNetwork } from "../limits/address-key.ts";
import { shareOf } from "../limits/share.ts";
import { Problem } from "../problem.ts";
import type { RequestContext } from "./request-context.ts";

/**
 * Interval between checks of a caller's credential, in milliseconds. After a credential ends, its
 * streams close within half a second, or within a second and a half if the change notice was lost. Most
 * checks hit the cache.
 */
const CHECK_INTERVAL_MS = 500;

/**
 * Consecutive checks without progress after which a stream is cut. Half a minute tolerates slow
 * networks.
 */
const MAX_STUCK_CHECKS = 60;

/**
 * Maximum open streams in one process: per caller, per person with all clients, agents and keys, in
 * total, and for all unclaimed agents together, so that these cannot block others.
 */
const MAX_PER_CALLER = 5;
const MAX_PER_ACCOUNT = 50;
const MAX_TOTAL = 500;
const MAX_UNCLAIMED = 100;

/**
 * Maximum fraction of the total, and of the unclaimed agents' part, open from one network (/32 of IPv6,
 * /24 of IPv4) while no other network has streams, because one network can hold many addresses and
 * credentials. The share of each network shrinks as the streams of others leave less.
 */
const NETWORK_SHARE = 1 / 2;

/** `Retry-After` in seconds: until a stream may have closed, or another process is reached. */
const RETRY_SECONDS = { tooMany: "10", stopping: "1" };

/** Open streaming responses. */
export interface Streams {
  /**
   * Keeps a response open while its caller reads it and the caller's credential is valid.
   *
   * @param end Ends the response normally; one that is still open at the next check is cut.
   * @throws {Problem} `rate_limited` if the caller, their person, their network or all callers together
   *   have too many; `not_ready` during shutdown.
   */
  hold(context: RequestContext, caller: Caller, end: () => void): void;
  /** Number of open streams. */
  readonly size: number;
  /**
   * Ends all streams with their connections, so that clients reconnect to another process; no more are
   * accepted.
   */
  close(): void;
}

/** An open stream. */
interface Open {
  readonly caller: string;
  /** The account that owns the caller; `undefined` for unclaimed agents. */
  readonly accountId: string | undefined;
  /** The widest network of the caller's address. */
  readonly network: string;
  /** Whether the caller is an unclaimed agent. */
  readonly isUnclaimed: boolean;
  /** Ends the stream; the second call cuts it. */
  end(): void;
}

/** Manages the open streams. If a credential cannot be looked up, its stream stays open until it can. */
export function createStreams(repeat: Repeat): Streams {
  const open = new Map<ServerResponse, Open>();
  let isClosed = false;
  return {
    hold(context, caller, end) {
      const { res } = context;
      // `close` was already emitted if the client left while the response was prepared.
      if (res.destroyed) return;
      if (isClosed) throw stopping();
      const stream = { ...listenerOf(context, caller), end: endOrCut(res, end) };
      refuseTooMany([...open.values()], stream);
      open.set(res, stream);
      const isStuck = createStuckCheck(res);
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

type Listener = Pick<Open, "caller" | "accountId" | "network" | "isUnclaimed">;

function listenerOf({ ip }: RequestContext, { kind, id, accountId }: Caller): Listener {
  const isUnclaimed = kind === "agent" && accountId === undefined;
  const network = widestNetwork(ip);
  return { caller: `${kind}:${id}`, accountId, network, isUnclaimed };
}

/** The first call ends the response, the second destroys it if the caller does not read. */
function endOrCut(res: ServerResponse, end: () => void): () => void {
  let isEnding = false;
  return () => {
    if (isEnding) res.destroy();
    else end();
    isEnding = true;
  };
}

/** Creates a check that reports whether a caller has read nothing for too long. */
function createStuckCheck(res: ServerResponse): () => boolean {
  let looks = 0;
  return () => {
    looks = res.writableNeedDrain ? looks + 1 : 0;
    return looks > MAX_STUCK_CHECKS;
  };
}

/** @throws {Problem} `rate_limited` */
function refuseTooMany(open: readonly Open[], listener: Listener): void {
  const { caller, accountId, isUnclaimed } = listener;
  const ofOne = open.filter((stream) => stream.caller === caller);
  if (ofOne.length >= MAX_PER_CALLER)
    throw tooMany(`You have ${MAX_PER_CALLER} streams open already.`);
  const ofAccount = open.filter((stream) => stream.accountId === accountId);
  if (accountId !== undefined && ofAccount.length >= MAX_PER_ACCOUNT) {
    throw tooMany(
      `Your account has ${MAX_PER_ACCOUNT} streams open, with all its agents and keys.`,
    );
  }
  refuseBeyond({ most: MAX_TOTAL, of: "all callers" }, open, listener);
  if (!isUnclaimed) return;
  const ofUnclaimed = open.filter((stream) => stream.isUnclaimed);
  const bound = { most: MAX_UNCLAIMED, of: "agents that nobody has claimed" };
  refuseBeyond(bound, ofUnclaimed, listener);
}

/** A limit on a group of streams. */
interface Bound {
  readonly most: number;
  readonly of: string;
}

/** @throws {Problem} `rate_limited` if the group, or one network's share of it, is full. */
function refuseBeyond({ most, of }: Bound, open: readonly Open[], { network }: Listener): void {
  if (open.length >= most) throw tooMany(`${most} streams are open, of ${of}.`);
  const ofNetwork = open.filter((stream) => stream.network === network).length;
  const share = shareOf({ total: most, most: most * NETWORK_SHARE }, most - open.length);
  if (ofNetwork >= share)
    throw tooMany(`${ofNetwork} streams of ${of} are open from your network.`);
}

const tooMany = (detail: string): Problem =>
  new Problem("rate_limited", {
    detail,
    next: "Close one of yours, or poll /api/alerts/events.",
    headers: { "Retry-After": RETRY_SECONDS.tooMany },
  });

const stopping = (): Problem =>
  new Problem("not_ready", {
    detail: "The service is stopping.",
    next: "Connect again.",
    headers: { "Retry-After": RETRY_SECONDS.stopping },
  });
