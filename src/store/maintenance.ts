import { randomUUID } from "node:crypto";
import { schedule, startLoop } from "../lib/loop.ts";
import { sealAudit } from "./audit/chain.ts";
import { AUDIT_TOPIC } from "./audit/entry.ts";
import { KEYS_TOPIC } from "./keys/key-records.ts";
import type { Keyring } from "./keys/keyring.ts";
import { createLease, type Lease } from "./lease.ts";
import type { Store } from "./port/store.ts";
import { applyRetention, type RetentionMs, type RetentionOptions } from "./retention.ts";

/** Announcements may be lost: audit rows are sealed at least this often, in milliseconds. */
const SEAL_EVERY_MS = 1_000;

/** Pause between two cleanups, and between two looks for new keys, in milliseconds. */
const CLEANUP_EVERY_MS = 60_000;

/** Expired records that are purged in one tick, so that no commit waits long. */
const PURGE_LIMIT = 1_000;

/** Name of the lease whose holder is the leader. */
export const LEADER = "leader";

/** A job that runs in one process at a time: the leader. */
export interface LeaderJob {
  /** A bounded piece of work. @returns How much it found; 0 ends the round. */
  readonly tick: () => Promise<number>;
  /** Pause between two rounds, in milliseconds. */
  readonly everyMs: number;
}

/** What the maintenance of a store works on. */
export interface MaintenanceOptions {
  readonly store: Pick<Store, "engine" | "records" | "archive">;
  readonly keyring: Keyring;
  /** Retention of the archive's kinds that the store does not write itself; other kinds stay. */
  readonly retentionMs?: RetentionMs;
  /** Retention of kinds that is counted back from their newest row. */
  readonly retentionBeforeNewestMs?: RetentionMs;
  /** What else runs while this process is the leader. */
  readonly leaderJobs?: readonly LeaderJob[];
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Called when something failed; it is tried again. */
  readonly onError: (error: unknown) => void;
}

/** The background work of an open store. */
export interface Maintenance {
  /** Whether this process is the leader. */
  readonly leadership: Pick<Lease, "isHeld" | "onChange">;
  /** Ends the work under way, then lets another process lead. */
  stop(): Promise<void>;
}

/** Starts the loops of a process: each process reloads keys that others changed; the leader seals audit
 *  rows, cleans up, and runs the leader jobs. */
export function startMaintenance(options: MaintenanceOptions): Maintenance {
  const { store, keyring, retentionMs, retentionBeforeNewestMs, now, onError } = options;
  const { records, archive } = store;
  const lease = createLease({
    records,
    name: LEADER,
    // One process at a time can open an embedded store, so a restart takes the lease at once.
    holder: store.engine === "embedded" ? "embedded" : randomUUID(),
    monotonic: () => performance.now(),
    schedule,
    onError,
  });
  const start = (tick: () => Promise<number>, everyMs: number) =>
    startLoop({ tick, everyMs, onError, schedule });
  const startAsLeader = (tick: () => Promise<number>, everyMs: number) =>
    start(async () => (lease.isHeld() ? tick() : 0), everyMs);

  const sealing = startAsLeader(() => sealAudit(records, now), SEAL_EVERY_MS);
  const cleaned = { records, archive, keyring, retentionMs, retentionBeforeNewestMs };
  const cleanup = startAsLeader(() => cleanUp(cleaned, now()), CLEANUP_EVERY_MS);
  const keyReload = start(() => keyring.reload().then(() => 0), CLEANUP_EVERY_MS);
  const jobs = (options.leaderJobs ?? []).map(({ tick, everyMs }) => startAsLeader(tick, everyMs));
  const loops = [sealing, cleanup, keyReload, ...jobs];
  const subscriptions = [
    records.onAnnounce(AUDIT_TOPIC, sealing.wake),
    records.onAnnounce(KEYS_TOPIC, keyReload.wake),
    lease.onChange(sealing.wake),
    lease.onChange(cleanup.wake),
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

/** What a cleanup works on. */
interface Cleaned extends RetentionOptions {
  readonly keyring: Pick<Keyring, "removeEnded">;
}

/**
 * Removes expired records, then keys and archive rows past their retention.
 *
 * @param now Milliseconds since the epoch.
 * @returns How many records were purged when there are probably more, otherwise 0.
 */
export async function cleanUp(cleaned: Cleaned, now: number): Promise<number> {
  const purged = await cleaned.records.purgeExpired(PURGE_LIMIT);
  if (purged === PURGE_LIMIT) return purged;

  await cleaned.keyring.removeEnded();
  await applyRetention(cleaned, now);
  return 0;
}
