import { randomUUID } from "node:crypto";
import { schedule, startLoop } from "../lib/loop.ts";
import { AUDIT_TOPIC } from "./audit/entry.ts";
import { sealAudit } from "./audit/seal.ts";
import { keepHouse } from "./housekeeping.ts";
import { KEYS_TOPIC } from "./keys/key-records.ts";
import type { Keyring } from "./keys/keyring.ts";
import { createLease, type Lease } from "./lease.ts";
import type { Store } from "./port/store.ts";
import type { KeptMs } from "./retention.ts";

/** Announcements may be lost: so often the audit rows that wait are chained anyway, in milliseconds. */
const SEAL_EVERY_MS = 1_000;

/** Pause between two rounds of housekeeping, and of looking for new keys, in milliseconds. */
const HOUSEKEEPING_EVERY_MS = 60_000;

/** What the lease is called whose holder leads. */
export const LEADER = "leader";

/** Work of the service that only one process may do. */
export interface LeadersWork {
  /** A bounded piece of it. @returns How much it found; 0 ends the round. */
  readonly step: () => Promise<number>;
  /** Pause between two rounds, in milliseconds. */
  readonly everyMs: number;
}

/** What is looked after. */
export interface UpkeepOptions {
  readonly store: Pick<Store, "engine" | "records" | "archive">;
  readonly keyring: Keyring;
  /** How long archive rows of the service's own kinds are kept; those of others stay. */
  readonly keptMs?: KeptMs;
  /** The same of kinds that are counted back from their newest row. */
  readonly keptBeforeNewestMs?: KeptMs;
  /** What is done besides while this process leads. */
  readonly leadersWork?: readonly LeadersWork[];
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Told when something could not be done; it is tried again. */
  readonly onError: (error: unknown) => void;
}

/** The work that a store needs while it is open. */
export interface Upkeep {
  /** Whether this process does what only one process may do. */
  readonly leadership: Pick<Lease, "isHeld" | "onChange">;
  /** Ends the work under way, then lets another process lead. */
  stop(): Promise<void>;
}

/** Starts it: every process follows the keys, and the leader chains audit rows and removes what
 *  is no longer wanted. */
export function startUpkeep(options: UpkeepOptions): Upkeep {
  const { store, keyring, keptMs, keptBeforeNewestMs, leadersWork = [], now, onError } = options;
  const { records, archive } = store;
  // A restarted embedded store, which one process at a time can open, is led at once.
  const holder = store.engine === "embedded" ? "embedded" : randomUUID();
  const lease = createLease({
    ...{ records, name: LEADER, holder, schedule, onError },
    monotonic: () => performance.now(),
  });
  const start = (step: () => Promise<number>, everyMs: number) =>
    startLoop({ step, everyMs, onError, schedule });
  const led = (step: () => Promise<number>) => async () => (lease.isHeld() ? step() : 0);

  const sealing = start(
    led(() => sealAudit(records, now)),
    SEAL_EVERY_MS,
  );
  const house = { records, archive, keptMs, keptBeforeNewestMs, keyring, now };
  const housekeeping = start(
    led(() => keepHouse(house)),
    HOUSEKEEPING_EVERY_MS,
  );
  const following = start(() => keyring.reload().then(() => 0), HOUSEKEEPING_EVERY_MS);
  const working = leadersWork.map(({ step, everyMs }) => start(led(step), everyMs));
  const loops = [sealing, housekeeping, following, ...working];
  const listening = [
    records.onAnnounce(AUDIT_TOPIC, sealing.wake),
    records.onAnnounce(KEYS_TOPIC, following.wake),
    lease.onChange(sealing.wake),
    lease.onChange(housekeeping.wake),
  ];
  return {
    leadership: lease,
    async stop() {
      for (const stopListening of listening) stopListening();
      await Promise.all(loops.map((loop) => loop.stop()));
      await lease.release().catch(onError);
    },
  };
}
