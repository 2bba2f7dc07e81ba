import { randomUUID } from "node:crypto";
import { schedule, startLoop } from "../lib/loop.ts";
import { sealAudit } from "./audit/audit-tree.ts";
import { AUDIT_TOPIC } from "./audit/entry.ts";
import { KEYS_TOPIC } from "./keys/key-records.ts";
import type { Keyring } from "./keys/keyring.ts";
import { createLease, type Lease } from "./lease.ts";
import type { Store } from "./port/store.ts";
import { applyRetention, type RetentionMs, type RetentionOptions } from "./retention.ts";

/** Fallback interval of sealing audit rows, in milliseconds, since announcements may be lost. */
const SEAL_EVERY_MS = 1_000;

/** Interval of cleanups and of key reloads, in milliseconds. */
const CLEANUP_EVERY_MS = 60_000;

/** Expired records purged per tick, so that no commit waits long. */
const PURGE_LIMIT = 1_000;

/** Name of the lease whose holder is the leader. */
export const LEADER = "leader";

/** A job that only the leader runs. */
export interface LeaderJob {
  /**
   * Does a bounded piece of work.
   *
   * @returns How much it processed; 0 ends the round.
   */
  readonly tick: () => Promise<number>;
  /** Pause between rounds, in milliseconds. */
  readonly everyMs: number;
  /** Subscribes to work: `wake` is called when a round has something to do. Absent if nothing
   *  announces work. @returns A function that unsubscribes. */
  readonly onWork?: (wake: () => void) => () => void;
}

/** Dependencies of the maintenance. */
export interface MaintenanceOptions {
  readonly store: Pick<Store, "engine" | "records" | "archive">;
  readonly keyring: Keyring;
  /** Retention of archive kinds that the store does not write itself; other kinds are kept forever. */
  readonly retentionMs?: RetentionMs;
  /** Retention of kinds, counted back from their newest row. */
  readonly retentionBeforeNewestMs?: RetentionMs;
  /** Further jobs of the leader. */
  readonly leaderJobs?: readonly LeaderJob[];
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Called when something failed; it is retried. */
  readonly onError: (error: unknown) => void;
}

/** The background work of an open store. */
export interface Maintenance {
  /** Whether this process is the leader. */
  readonly leadership: Pick<Lease, "isHeld" | "onChange">;
  /** Finishes the work in progress, then lets another process lead. */
  stop(): Promise<void>;
}

/**
 * Starts the loops of a process: each process reloads keys that others changed; the leader seals audit
 * rows, cleans up, and runs the leader jobs.
 */
export function startMaintenance(options: MaintenanceOptions): Maintenance {
  const { store, keyring, retentionMs, retentionBeforeNewestMs, now, onError } = options;
  const { records, archive } = store;
  const lease = createLease({
    records,
    name: LEADER,
    // Only one process can open an embedded store, so after a restart it takes the lease immediately.
    holder: store.engine === "embedded" ? "embedded" : randomUUID(),
    monotonic: () => performance.now(),
    schedule,
    onError,
  });
  const start = (tick: () => Promise<number>, everyMs: number) =>
    startLoop({ tick, everyMs, onError, schedule });
  const startAsLeader = (tick: () => Promise<number>, everyMs: number) =>
    start(async () => (lease.isHeld() ? tick() : 0), everyMs);

  const sealing = startAsLeader(() => sealAudit({ records, keyring }, now), SEAL_EVERY_MS);
  const cleaned = { records, archive, keyring, retentionMs, retentionBeforeNewestMs };
  const cleanup = startAsLeader(() => cleanUp(cleaned, now()), CLEANUP_EVERY_MS);
  const keyReload = start(() => keyring.reload().then(() => 0), CLEANUP_EVERY_MS);
  const leaderJobs = options.leaderJobs ?? [];
  const jobs = leaderJobs.map(({ tick, everyMs }) => startAsLeader(tick, everyMs));
  const loops = [sealing, cleanup, keyReload, ...jobs];
  const subscriptions = [
    records.onAnnounce(AUDIT_TOPIC, sealing.wake),
    records.onAnnounce(KEYS_TOPIC, keyReload.wake),
    lease.onChange(sealing.wake),
    lease.onChange(cleanup.wake),
    ...leaderJobs.flatMap(({ onWork }, at) => onWork?.(() => jobs[at]?.wake()) ?? []),
  ];
  return {
    leadership: lease,
    async stop() {
      for (const unsubscribe of subscriptions) unsubscribe();
      await Promise.all(loops.map((loop) => loop.stop()));
      await lease.release().catch(onError);
    },
  };
}

/** Dependencies of a cleanup. */
interface Cleaned extends RetentionOptions {
  readonly keyring: Pick<Keyring, "removeEnded">;
}

/**
 * Removes expired records, then keys and archive rows past their retention.
 *
 * @param now Milliseconds since the epoch.
 * @returns How many records were purged if there are probably more, otherwise 0.
 */
export async function cleanUp(cleaned: Cleaned, now: number): Promise<number> {
  const purged = await cleaned.records.purgeExpired(PURGE_LIMIT);
  if (purged === PURGE_LIMIT) return purged;

  await cleaned.keyring.removeEnded();
  await applyRetention(cleaned, now);
  return 0;
}
