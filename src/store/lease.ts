import { type Schedule, startLoop } from "../lib/loop.ts";
import { announce, insert, removeAt, replace } from "./port/operations.ts";
import { collection, type Records } from "./port/records.ts";

/** How long the lease holds unless it is renewed, in milliseconds by the store's clock. With one
 *  pause after it another process has it: 8.5 s after a holder's death at the latest. */
const TTL_MS = 7_000;

/** Pause between two renewals or attempts, in milliseconds: four fit into the lease. */
const RENEW_MS = 1_500;

/** The holder lets go so much earlier than others can take the lease, in milliseconds: for clocks
 *  that do not run equally fast. */
const MARGIN_MS = 1_000;

/** The holder of each lease. */
export const leases = collection<{ readonly holder: string }>("leases");

/** What a lease is taken with. */
export interface LeaseOptions {
  readonly records: Records;
  /** What is leased: at most one process holds it. */
  readonly name: string;
  /** Names this process; a process of the same name takes over at once. */
  readonly holder: string;
  /** Milliseconds by a clock that is never set, such as `performance.now`. */
  readonly monotonic: () => number;
  readonly schedule: Schedule;
  /** Called when the store could not be asked; the attempts go on. */
  readonly onError: (error: unknown) => void;
}

/** A part in being the one process of several that does something. */
export interface Lease {
  /**
   * Whether this process holds the lease. It stops before another can begin, as long as the clocks
   * run; a machine that sleeps, or a store whose clock is set, can make two hold it for a moment,
   * so what they do must bear that.
   */
  isHeld(): boolean;
  /** Listens to changes of `isHeld`. @returns Stops listening. */
  onChange(listener: () => void): () => void;
  /** Stops trying, and lets another process have it at once. */
  release(): Promise<void>;
}

/** Takes part in a lease: tries to get it, and renews it while it is held. */
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
  /** @param until When it ends, by the clock that is never set. */
  set(until: number): void;
  onChange(listener: () => void): () => void;
}

/** A time that ends by itself, whether or not the store answers, and tells when it begins and
 *  ends. */
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
