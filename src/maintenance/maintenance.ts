import { randomUUID } from "node:crypto";
import { KEYS_TOPIC } from "../keys/key-records.ts";
import type { Keyring } from "../keys/keyring.ts";
import { scheduleTimer, startLoop } from "../lib/loop.ts";
import { AUDIT_TOPIC } from "../store/audit-entry.ts";
import { createLease, type Lease } from "../store/lease.ts";
import type { Store } from "../store/port/store.ts";
import { sealAudit } from "./audit/audit-tree.ts";
import { applyRetention, type RetentionMsByKind, type RetentionOptions } from "./retention.ts";

/**
 * Pause between two polls for audit rows to seal, in milliseconds; needed because announcements can
 * be lost.
 */
const SEAL_EVERY_MS = 1_000;

/** Interval of cleanups and of key reloads, in milliseconds. */
const CLEANUP_EVERY_MS = 60_000;

/** Maximum number of expired records that are purged per tick, so that commits do not wait long. */
const PURGE_LIMIT = 1_000;

/** Name of the lease whose holder is the leader. */
export const LEADER_LEASE_NAME = "leader";

/** A job that only the leader runs. */
export interface LeaderJob {
  /**
   * Performs a limited amount of work.
   *
   * @returns The number of items processed; 0 ends the round.
   */
  readonly tick: () => Promise<number>;
  /** Pause between rounds, in milliseconds. */
  readonly everyMs: number;
  /**
   * Subscribes to new work; `wake` is called when there is new work. Absent if nothing announces
   * work.
   *
   * @returns A function that unsubscribes.
   */
  readonly onWork?: (wake: () => void) => () => void;
}

/** Dependencies of `startMaintenance`. */
interface MaintenanceOptions {
  readonly store: Pick<Store, "engine" | "records" | "archive">;
  readonly keyring: Keyring;
  /**
   * Retention, in milliseconds, of archive kinds that the store does not write itself. Kinds
   * without a retention are kept forever.
   */
  readonly retentionMs?: RetentionMsByKind;
  /**
   * Retention, in milliseconds, of archive kinds that cannot be recreated, counted back from the
   * newest row of the kind or from the current time, whichever is earlier.
   */
  readonly retentionBeforeNewestMs?: RetentionMsByKind;
  /** Additional jobs of the leader. */
  readonly leaderJobs?: readonly LeaderJob[];
  /** The current time, in milliseconds since the epoch. */
  readonly now: () => number;
  /** Called when a task fails. The task is retried. */
  readonly onError: (error: unknown) => void;
}

/** The background work of an open store. */
export interface Maintenance {
  /** Tells whether this process is the leader, and reports changes of leadership. */
  readonly leadership: Pick<Lease, "isHeld" | "onChange">;
  /** Finishes the work in progress, then lets another process become the leader. */
  stop(): Promise<void>;
}

/**
 * Starts the background loops of a process. Every process reloads keys that others have changed.
 * The leader also seals audit rows, removes expired data, and runs the leader jobs.
 */
export function startMaintenance(options: MaintenanceOptions): Maintenance {
  const { store, keyring, retentionMs, retentionBeforeNewestMs, now, onError } = options;
  const { records, archive } = store;
  const lease = createLease({
    records,
    name: LEADER_LEASE_NAME,
    // Only one process can open an embedded store, so after a restart the process can take over the
    // lease immediately.
    holder: store.engine === "embedded" ? "embedded" : randomUUID(),
    monotonic: () => performance.now(),
    schedule: scheduleTimer,
    onError,
  });
  const start = (tick: () => Promise<number>, everyMs: number) =>
    startLoop({ tick, everyMs, onError, schedule: scheduleTimer });
  const startAsLeader = (tick: () => Promise<number>, everyMs: number) =>
    start(async () => (lease.isHeld() ? tick() : 0), everyMs);

  const sealing = startAsLeader(() => sealAudit({ records, keyring }, now), SEAL_EVERY_MS);
  const cleaned = { records, archive, keyring, retentionMs, retentionBeforeNewestMs };
  const cleanup = startAsLeader(() => purgeExpiredData(cleaned, now()), CLEANUP_EVERY_MS);
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

/**
 * Removes expired records and, once no more than the limit are left, keys and archive rows whose
 * retention has ended.
 *
 * @param now Milliseconds since the epoch.
 * @returns The number of purged records if it reached the limit, in which case more expired records
 * may remain; otherwise 0.
 */
export async function purgeExpiredData(
  cleaned: RetentionOptions & { readonly keyring: Pick<Keyring, "removeEnded"> },
  now: number,
): Promise<number> {
  const purged = await cleaned.records.purgeExpired(PURGE_LIMIT);
  if (purged === PURGE_LIMIT) return purged;

  await cleaned.keyring.removeEnded();
  await applyRetention(cleaned, now);
  return 0;
}
