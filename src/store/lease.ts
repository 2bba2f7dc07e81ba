import { type ScheduleTimer, startLoop } from "../lib/loop.ts";
import { announce, insert, removeUnchanged, replace } from "./port/operations.ts";
import { collection, type Records } from "./port/records.ts";

/**
 * Duration of a lease that is not renewed, in milliseconds of the store's clock. If the holder
 * dies, another process takes over with its next attempt, at most 8.5 s later.
 */
const TTL_MS = 7_000;

/**
 * Interval between two renewals by the holder, and between two attempts of another process to
 * acquire the lease, in milliseconds. Four intervals fit into the duration of a lease.
 */
const RENEW_MS = 1_500;

/**
 * The holder considers the lease lost this many milliseconds before other processes can take it, to
 * allow for clock drift.
 */
const MARGIN_MS = 1_000;

/** Current holders, by the name of the lease. */
export const leases = collection<{ readonly holder: string }>("leases");

/** Dependencies of `createLease`. */
interface LeaseOptions {
  readonly records: Records;
  /** Name of the lease. At most one process holds the lease. */
  readonly name: string;
  /** Id of this process. A process with the holder's id takes over immediately. */
  readonly holder: string;
  /** The monotonic clock in milliseconds, such as `performance.now`. */
  readonly monotonic: () => number;
  readonly schedule: ScheduleTimer;
  /**
   * Called when the store is unavailable. The process keeps trying to acquire or renew the lease.
   */
  readonly onError: (error: unknown) => void;
}

/** A process's participation in a lease. */
export interface Lease {
  /**
   * Whether this process holds the lease. Normally one holder stops before the next starts. After a
   * suspended machine resumes, or the store's clock is set, two processes may hold the lease
   * briefly, so jobs must tolerate this.
   */
  isHeld(): boolean;
  /**
   * Subscribes to changes of `isHeld`.
   *
   * @returns A function that unsubscribes.
   */
  onChange(listener: () => void): () => void;
  /** Stops acquiring the lease, and lets another process take over immediately. */
  release(): Promise<void>;
}

/** Participates in a lease: acquires it when possible, and renews it while it is held. */
export function createLease(options: LeaseOptions): Lease {
  const { records, name, holder, monotonic, schedule, onError } = options;
  const term = createTerm(options);
  const topic = `lease:${name}`;
  const read = async () => {
    const found = await records.get(leases, name);
    return { found, isFree: found === undefined || found.value.holder === holder };
  };
  const tick = async (): Promise<number> => {
    const askedAt = monotonic();
    const { found, isFree } = await read();
    const to = { value: { holder }, ttlMs: TTL_MS };
    const taken = found ? replace(leases, found, to) : insert(leases, { key: name, ...to });
    const isHeld = isFree && (await records.commit([taken]));
    term.set(isHeld ? askedAt + TTL_MS - MARGIN_MS : askedAt);
    return 0;
  };
  const loop = startLoop({ tick, everyMs: RENEW_MS, onError, schedule });
  const stopListening = records.onAnnounce(topic, loop.wake);
  return {
    isHeld: term.isRunning,
    onChange: term.onChange,
    async release() {
      stopListening();
      await loop.stop();
      term.set(monotonic());
      const { found, isFree } = await read();
      if (found && isFree) await records.commit([removeUnchanged(leases, found), announce(topic)]);
    },
  };
}

interface Term {
  isRunning(): boolean;
  /**
   * @param until When the process's term as the holder ends, in milliseconds of the monotonic
   * clock.
   */
  set(until: number): void;
  onChange(listener: () => void): () => void;
}

/**
 * Creates the term during which this process holds the lease. The term expires even if the store
 * does not answer, and its listeners are called when it begins and ends.
 */
function createTerm({ monotonic, schedule }: Pick<LeaseOptions, "monotonic" | "schedule">): Term {
  const listeners = new Set<() => void>();
  let until = Number.NEGATIVE_INFINITY;
  let wasRunning = false;
  let cancel = () => {};
  const isRunning = () => monotonic() < until;
  const look = (): void => {
    cancel();
    if (isRunning()) cancel = schedule(look, Math.ceil(until - monotonic()));
    if (isRunning() === wasRunning) return;
    wasRunning = !wasRunning;
    for (const listener of listeners) listener();
  };
  return {
    isRunning,
    set(newEnd) {
      until = newEnd;
      look();
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
