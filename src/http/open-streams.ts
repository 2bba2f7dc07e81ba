import type { ServerResponse } from "node:http";
import type { Caller } from "../auth/caller.ts";
import type { Repeat } from "../lib/loop.ts";
import { widestNetwork } from "../limits/address-key.ts";
import { shareOf } from "../limits/share.ts";
import { Problem } from "../problem.ts";
import type { RequestContext } from "./request-context.ts";

/** Pause between two looks whether a caller may still listen, in milliseconds: half a second after a
 *  credential has ended its streams are closed; after a second and a half where the word of it was
 *  lost. Most looks find what another request has looked up a moment before. */
const LOOK_EVERY_MS = 500;

/** Looks in a row that find a caller who takes nothing of what is there; then the stream is cut. Half
 *  a minute, so that a slow network is none. */
const MAX_STUCK_LOOKS = 60;

/** Streams that one caller can have open, a person with all their clients, agents and keys, and all
 *  callers together, in one process; and all agents that nobody answers for, who must not keep others
 *  out. */
const MAX_OF_ONE = 5;
const MAX_OF_ACCOUNT = 50;
const MAX_OF_ALL = 500;
const MAX_OF_STRANGERS = 100;

/** Of those of all, and of those of strangers, the part that can be open from one network (/32 of IPv6,
 *  /24 of IPv4) while no other has any: whoever has one may have many addresses and credentials. The
 *  share of each network shrinks as the streams of others leave less. */
const NETWORK_PART = 1 / 2;

/** Seconds after which a caller may try again: to find room, or another process. */
const RETRY_SECONDS = { tooMany: "10", stopping: "1" };

/** Answers that stay open. */
export interface Streams {
  /**
   * Lets an answer stay open while its caller reads it and the caller's credential is good.
   *
   * @param end Ends the answer in good order; one that is open at the next look is cut.
   * @throws {Problem} `rate_limited` when the caller, their person, their network or everybody together has
   *   too many;
   *   `not_ready` when there are to be no more.
   */
  hold(context: RequestContext, caller: Caller, end: () => void): void;
  /** How many are open. */
  readonly size: number;
  /** Ends all of them, each with its connection, so that whoever comes back comes to another process;
   *  there are to be no more. */
  close(): void;
}

/** An answer that is open. */
interface Open {
  readonly caller: string;
  /** Who answers for the caller; `undefined`: nobody does. */
  readonly accountId: string | undefined;
  /** The widest network that the caller's address is in. */
  readonly network: string;
  /** An agent that nobody answers for. */
  readonly isStranger: boolean;
  /** Ends it; the second time it is cut. */
  end(): void;
}

/** Keeps the answers that stay open. When a credential cannot be looked up, its stream stays open
 *  until it can. */
export function createStreams(repeat: Repeat): Streams {
  const open = new Map<ServerResponse, Open>();
  let isClosed = false;
  return {
    hold(context, caller, end) {
      const { res } = context;
      // Whoever left while the answer was prepared is never heard to leave.
      if (res.destroyed) return;
      if (isClosed) throw stopping();
      const stream = { ...listenerOf(context, caller), end: endOrCut(res, end) };
      refuseTooMany([...open.values()], stream);
      open.set(res, stream);
      const isStuck = stuckness(res);
      const looking = repeat(async () => {
        if (isStuck()) res.destroy();
        else if (isClosed || !(await context.isStillValid())) stream.end();
        return 0;
      }, LOOK_EVERY_MS);
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

type Listener = Pick<Open, "caller" | "accountId" | "network" | "isStranger">;

function listenerOf({ ip }: RequestContext, { kind, id, accountId }: Caller): Listener {
  const isStranger = kind === "agent" && accountId === undefined;
  const network = widestNetwork(ip);
  return { caller: `${kind}:${id}`, accountId, network, isStranger };
}

/** A caller who does not read would keep an answer open that has long been ended. */
function endOrCut(res: ServerResponse, end: () => void): () => void {
  let isEnding = false;
  return () => {
    if (isEnding) res.destroy();
    else end();
    isEnding = true;
  };
}

/** Tells, look by look, whether a caller has taken nothing for too long. */
function stuckness(res: ServerResponse): () => boolean {
  let looks = 0;
  return () => {
    looks = res.writableNeedDrain ? looks + 1 : 0;
    return looks > MAX_STUCK_LOOKS;
  };
}

/** @throws {Problem} `rate_limited`. */
function refuseTooMany(open: readonly Open[], listener: Listener): void {
  const { caller, accountId, isStranger } = listener;
  const ofOne = open.filter((stream) => stream.caller === caller);
  if (ofOne.length >= MAX_OF_ONE) throw tooMany(`You have ${MAX_OF_ONE} streams open already.`);
  const ofAccount = open.filter((stream) => stream.accountId === accountId);
  if (accountId !== undefined && ofAccount.length >= MAX_OF_ACCOUNT) {
    throw tooMany(`Your account has ${MAX_OF_ACCOUNT} streams open, with all its agents and keys.`);
  }
  refuseBeyond({ most: MAX_OF_ALL, of: "all callers" }, open, listener);
  if (!isStranger) return;
  const ofStrangers = open.filter((stream) => stream.isStranger);
  const bound = { most: MAX_OF_STRANGERS, of: "agents that nobody has claimed" };
  refuseBeyond(bound, ofStrangers, listener);
}

/** How many streams can be open, and whose. */
interface Bound {
  readonly most: number;
  readonly of: string;
}

/** @throws {Problem} `rate_limited` when so many are open, or of one network its share of them. */
function refuseBeyond({ most, of }: Bound, open: readonly Open[], { network }: Listener): void {
  if (open.length >= most) throw tooMany(`${most} streams are open, of ${of}.`);
  const ofNetwork = open.filter((stream) => stream.network === network).length;
  const share = shareOf({ total: most, most: most * NETWORK_PART }, most - open.length);
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
