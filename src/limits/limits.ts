import { hash } from "node:crypto";
import { type ScheduleTimer, scheduleTimer } from "../lib/loop.ts";
import type { Counters } from "../store/port/counters.ts";
import { type LimitLevel, refusingLevel, reserved, type Used } from "./admission.ts";
import {
  type LimitNumbers,
  type LimitOverrides,
  limitNumbers,
  type RateClass,
  type RateName,
  rateClasses,
} from "./classes.ts";
import { CounterClient, type CounterRequest } from "./counter-client.ts";
import { boundedKey, createQuotaWindows, type QuotaWindow, type QuotaWindows } from "./windows.ts";

/** The party that an action is counted for. */
export interface Party {
  /** Key of the caller; an address must come from `ipAddressKey`. */
  readonly caller: string;
  /** The caller's network (`networkOf`), or what stands for it where the network is not known. */
  readonly network: string;
  /** The mailbox, chat or host, in a class whose numbers hold for each (`RateClass.per`). */
  readonly target?: string;
  /** In another class: a pool whose three numbers hold apart from the rest. */
  readonly pool?: string;
}

/** The state of a limit for one party. */
export interface LimitState {
  readonly name: RateName;
  /** The number that refuses, or that of the caller if none does. */
  readonly level: LimitLevel;
  /** The number at this level, and what is left of it. */
  readonly most: number;
  readonly left: number;
  /** Length of the window in seconds. */
  readonly seconds: number;
  /** Milliseconds until the window ends. */
  readonly resetMs: number;
  /** Whether the action is refused; after `check`, whether the next would be. */
  readonly isExceeded: boolean;
}

/** Counts actions against the limits. */
export interface Limits {
  /** Counts one action, unless it is refused. */
  admit(name: RateName, party: Party): Promise<LimitState>;
  /** Reads the state of a limit without counting. */
  check(name: RateName, party: Party): Promise<LimitState>;
}

/** Limits with the counting that they do. */
export interface CountingLimits extends Limits {
  /** Sends pending counts to the database. */
  sync(): Promise<void>;
}

/** Options of `createLimits`. */
export interface LimitsOptions {
  readonly overrides?: LimitOverrides;
  /** Monotonic clock, in milliseconds. */
  readonly now?: () => number;
  /** The database in which several processes count together; absent for one process. */
  readonly shared?: SharedCounting | undefined;
}

/** How several processes count together. */
export interface SharedCounting {
  readonly counters: Pick<Counters, "add">;
  readonly schedule?: ScheduleTimer;
  /** Maximum time that a caller waits for the database, in milliseconds. */
  readonly timeoutMs?: number;
  /** Called when the database failed; the client retries. */
  readonly onError: (error: unknown) => void;
}

/** Classes that are counted so often that a call must not wait for a database query. */
const SYNCED: ReadonlySet<RateName> = new Set(["calls", "calls-unclaimed", "visits"]);

/** Interval between synchronizations with the database, in milliseconds. */
const SYNC_EVERY_MS = 1_000;

/** Pattern of the keys that are stored in the database verbatim; other keys are hashed. */
const PLAIN = /^[ -~]*$/;

/**
 * The window of a key, with the counts of this process and the last known count in the database.
 */
interface Window extends QuotaWindow {
  /** Name of the window in the database. */
  readonly name: string;
  /** Number of points in the database, according to its last response. */
  total: number;
  /** Number of points counted in this process that `total` may not include yet. */
  unconfirmed: number;
  /** Number of points in `unconfirmed` that have not been sent to the database. */
  unsent: number;
}

/** What is counted of a class; the reserve of the total is counted apart from the rest. */
type WindowKind = LimitLevel | "reserve";

/** A class with its numbers and its open windows. */
interface CountedClass {
  readonly name: RateName;
  readonly most: LimitNumbers;
  readonly countsWhatHappened: boolean;
  readonly windowMs: number;
  readonly windows: Readonly<Record<WindowKind, QuotaWindows<Window>>>;
}

/** The keys under which a party is counted. */
type PartyKeys = Readonly<Record<WindowKind, string>>;

/** Key of all parties of a class together. */
const WHOLE = "";

/** The windows of one party. */
type PartyWindows = Readonly<Record<WindowKind, Window>>;

/** Monotonic clock in milliseconds, so that setting the system time does not change windows. */
const monotonicNow = (): number => Math.floor(performance.now());

/**
 * Creates the limits.
 *
 * Without a database, counts are exact and begin anew with the process. With one, each action is
 * counted in it with one statement, so that all processes together allow exactly the numbers; what
 * is known to be used up is refused without a query. Where several processes count at the same
 * instant, an action that exceeds one number is refused, but has been counted for the others. While
 * the database does not respond, each process continues from its last response on its own.
 *
 * `calls`, `calls-unclaimed` and `visits` are counted in the process and synchronized with the
 * database, at the first action in a window and then once a second. Several processes can therefore
 * exceed these numbers by what all but one of them accept within a second.
 */
export function createLimits({
  overrides = {},
  now = monotonicNow,
  shared,
}: LimitsOptions = {}): CountingLimits {
  const names = Object.keys(rateClasses) as RateName[];
  const classes = new Map(names.map((name) => [name, createClass(name, overrides)]));
  const classOf = (name: RateName): CountedClass => classes.get(name) as CountedClass;
  const schedule = shared?.schedule ?? scheduleTimer;
  const { counters, timeoutMs, onError = () => {} } = shared ?? {};
  const client = counters && new CounterClient({ counters, now, schedule, timeoutMs, onError });
  const sync = client && new Sync(client, now, schedule);

  /** Counts what has happened for the caller alone. */
  const countCaller = async (counted: CountedClass, keys: PartyKeys): Promise<LimitState> => {
    const windows = openWindows(counted, keys, now());
    if (client === undefined) windows.caller.unconfirmed += 1;
    else await addShared(client, windows.caller, now);
    markExhausted(counted, keys, windows);
    const refusing = used(windows.caller) > counted.most.caller ? "caller" : undefined;
    return stateOf(counted, windows, { at: now(), refusing });
  };

  return {
    async admit(name, party) {
      const counted = classOf(name);
      const at = now();
      const keys = keysOf(party);
      const seen = windowsOf(counted, keys, at);
      const known = refusingLevel(counted.most, usedOf(counted, seen));
      if (known !== undefined) {
        return counted.countsWhatHappened && known !== "caller"
          ? countCaller(counted, keys)
          : stateOf(counted, seen, { at, refusing: known });
      }
      const windows = openWindows(counted, keys, at);
      const counting = [windows.caller, windows.network, windows[nextOf(counted, windows)]];
      let refusing: LimitLevel | undefined;
      if (client === undefined) for (const window of counting) window.unconfirmed += 1;
      else if (SYNCED.has(name)) sync?.count(counting);
      else refusing = await countShared(client, counted, windows, now);
      markExhausted(counted, keys, windows);
      return stateOf(counted, windows, { at: now(), refusing });
    },
    async check(name, party) {
      const counted = classOf(name);
      const windows = windowsOf(counted, keysOf(party), now());
      const known = refusingLevel(counted.most, usedOf(counted, windows));
      if (known === undefined && client !== undefined && !SYNCED.has(name)) {
        const read = (window: Window) => client.add(requestFor(window, 0, now()));
        await Promise.all(Object.values(windows).map(read));
      }
      const refusing = refusingLevel(counted.most, usedOf(counted, windows));
      return stateOf(counted, windows, { at: now(), refusing });
    },
    sync: async () => sync?.sendAll(),
  };
}

function createClass(name: RateName, overrides: LimitOverrides): CountedClass {
  const rate: RateClass = rateClasses[name];
  const windowMs = rate.seconds * 1000;
  const windowsFor = (kind: WindowKind) =>
    createQuotaWindows<Window>((key, at) => ({
      name: `${name} ${kind} ${PLAIN.test(key) ? key : hash("sha256", key, "base64url")}`,
      endsAt: at + windowMs,
      total: 0,
      unconfirmed: 0,
      unsent: 0,
    }));
  return {
    name,
    most: overrides[name] ?? limitNumbers[name],
    countsWhatHappened: rate.countsWhatHappened ?? false,
    windowMs,
    windows: {
      caller: windowsFor("caller"),
      network: windowsFor("network"),
      total: windowsFor("total"),
      reserve: windowsFor("reserve"),
    },
  };
}

/** The keys of a party. Without a target or pool, that of the total and its reserve is `WHOLE`. */
function keysOf({ caller, network, target, pool }: Party): PartyKeys {
  const apart = target ?? pool ?? "";
  const keyOf = (own: string) => boundedKey(apart === "" ? own : `${apart} ${own}`);
  const total = keyOf(WHOLE);
  return { caller: keyOf(caller), network: keyOf(network), total, reserve: total };
}

/** The windows of a party; one that is not open is not kept. */
function windowsOf({ windows }: CountedClass, keys: PartyKeys, at: number): PartyWindows {
  const windowOf = (kind: WindowKind) => windows[kind].look(keys[kind], at);
  return {
    caller: windowOf("caller"),
    network: windowOf("network"),
    total: windowOf("total"),
    reserve: windowOf("reserve"),
  };
}

/** The windows of a party, which are opened if necessary. */
function openWindows({ windows }: CountedClass, keys: PartyKeys, at: number): PartyWindows {
  const windowOf = (kind: WindowKind) => windows[kind].getOrOpen(keys[kind], at);
  const opened = {
    caller: windowOf("caller"),
    network: windowOf("network"),
    total: windowOf("total"),
    reserve: windowOf("reserve"),
  };
  endReserveWithTotal(opened);
  return opened;
}

/** A reserve that ended after its total would be used up already when the next total begins. */
function endReserveWithTotal({ total, reserve }: PartyWindows): void {
  reserve.endsAt = Math.min(reserve.endsAt, total.endsAt);
}

const used = ({ total, unconfirmed }: Window): number => total + unconfirmed;

/** Most that is counted before the reserve is. */
const mostUnreserved = ({ most: { total } }: CountedClass): number => total - reserved(total);

function usedOf(counted: CountedClass, { caller, network, total, reserve }: PartyWindows): Used {
  const unreserved = Math.min(used(total), mostUnreserved(counted));
  return { caller: used(caller), network: used(network), total: unreserved + used(reserve) };
}

/** Where one more action counts toward the total. */
const nextOf = (counted: CountedClass, { total }: PartyWindows): "total" | "reserve" =>
  used(total) < mostUnreserved(counted) ? "total" : "reserve";

/**
 * Marks used-up windows of the party, and those of the whole class, so that a flood of other keys
 * does not evict them.
 */
function markExhausted(
  { windows, most }: CountedClass,
  keys: PartyKeys,
  opened: PartyWindows,
): void {
  if (used(opened.caller) >= most.caller) windows.caller.markExhausted(keys.caller);
  if (used(opened.network) >= most.network) windows.network.markExhausted(keys.network);
  if (keys.total !== WHOLE) return;
  windows.total.markExhausted(WHOLE);
  windows.reserve.markExhausted(WHOLE);
}

function stateOf(
  counted: CountedClass,
  windows: PartyWindows,
  { at, refusing }: { readonly at: number; readonly refusing: LimitLevel | undefined },
): LimitState {
  const level = refusing ?? "caller";
  const most = counted.most[level];
  return {
    name: counted.name,
    level,
    most,
    left: refusing === undefined ? Math.max(most - usedOf(counted, windows)[level], 0) : 0,
    seconds: counted.windowMs / 1000,
    resetMs: Math.max(windows[level].endsAt - at, 0),
    isExceeded: refusing !== undefined,
  };
}

/** Counts an action in one window. @returns The points of the window in the database. */
async function addShared(
  client: CounterClient,
  window: Window,
  now: () => number,
): Promise<number> {
  window.unconfirmed += 1;
  return (await client.add(requestFor(window, 1, now())))?.points ?? used(window);
}

/**
 * Counts an action in the database. What it answers decides, because other processes may have
 * counted meanwhile.
 *
 * @returns The number that refuses the action; `undefined` if it is admitted.
 */
async function countShared(
  client: CounterClient,
  counted: CountedClass,
  windows: PartyWindows,
  now: () => number,
): Promise<LimitLevel | undefined> {
  const { most } = counted;
  const add = (window: Window) => addShared(client, window, now);
  const next = nextOf(counted, windows);
  const [ofCaller, ofNetwork, ofNext] = await Promise.all([
    add(windows.caller),
    add(windows.network),
    add(windows[next]),
  ]);
  if (ofCaller > most.caller) return "caller";
  if (ofNetwork > most.network) return "network";
  if (next === "total" && ofNext <= mostUnreserved(counted)) return undefined;
  if (ofNetwork > 1) return "total";
  endReserveWithTotal(windows);
  const ofReserve = next === "reserve" ? ofNext : await add(windows.reserve);
  return ofReserve > reserved(most.total) ? "total" : undefined;
}

/**
 * Creates an addition whose result updates the window. A window that is not in the database begins
 * there with the time that it has left here. The result may end the window earlier but never later.
 * If the database has lost points, they are not counted again.
 */
function requestFor(window: Window, points: number, at: number): CounterRequest {
  return {
    name: window.name,
    points,
    windowMs: Math.max(window.endsAt - at, 1),
    onCounted(answer, sentAt) {
      window.total = answer.points;
      window.unconfirmed -= points;
      window.endsAt = Math.min(window.endsAt, sentAt + answer.leftMs);
    },
  };
}

/** Sends the counts of windows to the database periodically. */
class Sync {
  readonly #client: CounterClient;
  readonly #now: () => number;
  readonly #schedule: ScheduleTimer;
  readonly #unsent = new Set<Window>();
  #cancel: (() => void) | undefined;

  constructor(client: CounterClient, now: () => number, schedule: ScheduleTimer) {
    this.#client = client;
    this.#now = now;
    this.#schedule = schedule;
  }

  /**
   * Counts an action in windows. A window with its first point is sent immediately, all others at
   * the next synchronization.
   */
  count(windows: readonly Window[]): void {
    for (const window of windows) {
      window.unconfirmed += 1;
      window.unsent += 1;
      if (used(window) === 1) void this.#send(window);
      else if (window.unsent === 1) this.#unsent.add(window);
    }
    if (this.#unsent.size > 0) this.#cancel ??= this.#schedule(() => this.sendAll(), SYNC_EVERY_MS);
  }

  async sendAll(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    const open = [...this.#unsent].filter(({ endsAt }) => endsAt > this.#now());
    this.#unsent.clear();
    await Promise.all(open.map((window) => this.#send(window)));
  }

  #send(window: Window): Promise<unknown> {
    const points = window.unsent;
    window.unsent = 0;
    return this.#client.add(requestFor(window, points, this.#now()));
  }
}
