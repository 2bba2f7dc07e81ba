import { type Schedule, startLoop } from "../lib/loop.ts";
import { announce, insert, removeAt, replace } from "./port/operations.ts";
import { collection, type Records } from "./port/records.ts";

/**
 * Lease duration without renewal, in milliseconds by the store's clock. Another process takes over one
 * attempt later: at most 8.5 s after a holder's death.
 */
const TTL_MS = 7_000;

/** Interval of renewals and attempts, in milliseconds: four fit into the lease. */
const RENEW_MS = 1_500;

/**
 * The holder gives up this much earlier than others can take the lease, in milliseconds, to allow for
 * clock drift.
 */
const MARGIN_MS = 1_000;

/** The holder of each lease. */
export const leases = collection<{ readonly holder: string }>("leases");

/** Dependencies of a lease. */
export interface LeaseOptions {
  readonly records: Records;
  /** Name of the lease; at most one process holds it. */
  readonly name: string;
  /** Id of this process; a process with the same id takes over immediately. */
  readonly holder: string;
  /** Monotonic milliseconds, such as `performance.now`. */
  readonly monotonic: () => number;
  readonly schedule: Schedule;
  /** Called when the store is unavailable; attempts continue. */
  readonly onError: (error: unknown) => void;
}

/** Participation of this process in a lease. */
export interface Lease {
  /**
   * Whether this process holds the lease. It stops before another can start, as long as clocks run;
   * after a suspended machine resumes, or a store's clock is set, two processes may hold it briefly, so
   * jobs must tolerate that.
   */
  isHeld(): boolean;
  /**
   * Subscribes to changes of `isHeld`.
   *
   * @returns A function that unsubscribes.
   */
  onChange(listener: () => void): () => void;
  /** Stops trying, and lets another process take over immediately. */
  release(): Promise<void>;
}

/** Takes part in a lease: acquires it when possible, and renews it while held. */
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
      if (found && isFree) await records.commit([removeAt(leases, found), announce(topic)]);
    },
  };
}

interface Term {
  isRunning(): boolean;
  /** @param until When it ends, in monotonic milliseconds. */
  set(until: number): void;
  onChange(listener: () => void): () => void;
}

/**
 * A term of holding the lease. It expires even if the store does not answer, and reports its
 * beginning and end.
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
