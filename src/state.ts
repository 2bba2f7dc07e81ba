import { hkdfSync } from "node:crypto";
import type { Logger } from "pino";
import {
  ATTEMPT_ARCHIVE_KIND,
  EVENT_ARCHIVE_KIND,
  EVENT_RETENTION_MS,
} from "./alerts/delivery/delivery.ts";
import { watchCredentials } from "./auth/credential-changes.ts";
import type { StoreSettings } from "./config/config.ts";
import { MARKET_ROW_RETENTION_MS } from "./ingest/market-rows.ts";
import { hasStoredKeys } from "./keys/key-records.ts";
import { type Keyring, openKeyring } from "./keys/keyring.ts";
import { readMasterKey } from "./keys/master-key.ts";
import {
  LEADER_LEASE_NAME,
  type LeaderJob,
  type Maintenance,
  startMaintenance,
} from "./maintenance/maintenance.ts";
import { leases } from "./store/lease.ts";
import { measuredRecords } from "./store/measured-records.ts";
import type { Store, StoreMode } from "./store/port/store.ts";
import { WriteProbe } from "./store/probe.ts";
import { createFolder } from "./store/sqlite/folder.ts";
import { openEmbedded } from "./store/sqlite/open.ts";
import { type Meters, NO_METERS } from "./telemetry/meters.ts";
import type { ComponentState } from "./telemetry/readiness.ts";

/** Retention of alert events and delivery attempts in the archive, in milliseconds. */
const RETENTION_MS = {
  [EVENT_ARCHIVE_KIND]: EVENT_RETENTION_MS,
  [ATTEMPT_ARCHIVE_KIND]: EVENT_RETENTION_MS,
};

/** Options of `openPersistentState`. */
interface PersistentStateOptions {
  readonly choice: StoreSettings;
  readonly mode: StoreMode;
  /** Returns the current time in milliseconds since the epoch. */
  readonly now: () => number;
  /**
   * Clock of the embedded store, by which leases end and records become due or expire; PostgreSQL
   * has its own clock. Milliseconds since the epoch. Default: `now`.
   */
  readonly storeNow?: (() => number) | undefined;
  readonly log: Logger;
  /** Meters that record how long commits take; absent if nothing is measured. */
  readonly meters?: Meters;
}

/** The state of the service that outlives the process, and functions that depend on it. */
export interface PersistentState {
  readonly store: Store;
  readonly keyring: Keyring;
  /**
   * Registers a listener for commits of any process that may have revoked or narrowed a credential.
   * @returns A function that removes the listener.
   */
  readonly onCredentialChange: (listener: () => void) => () => void;
  /**
   * Starts the maintenance of the store. Must not be called while the process still has work ahead
   * that blocks it for long, because a leader that does not respond is replaced.
   */
  startMaintenance(leaderJobs: readonly LeaderJob[]): void;
  /** Whether this process is the leader. */
  isLeader(): boolean;
  /** Whether any process is the leader. */
  isLed(): Promise<boolean>;
  /** Derives a key of 32 bytes for one purpose from the master key (HKDF-SHA256, RFC 5869). */
  deriveKey(purpose: string): Uint8Array;
  /** Checks whether a write reaches the disk at present. */
  probe(): Promise<ComponentState>;
  /** Finishes the work in progress and closes the store. */
  close(): Promise<void>;
}

/**
 * Opens the store and the keys.
 * @throws {Error} When a store exists that cannot or must not be opened; the message says what to
 * do.
 */
export async function openPersistentState(
  options: PersistentStateOptions,
): Promise<PersistentState> {
  const { choice, now, log } = options;
  const { store, onCredentialChange } = watchCredentials(
    measured(await openStore(options), options.meters ?? NO_METERS),
  );
  try {
    const masterKey = await openMasterKey(store, choice);
    const keyring = await openKeyring({ records: store.records, masterKey, now });
    const onError = (error: unknown) =>
      log.error({ err: error }, "maintenance of the store failed");
    const onProbeError = (error: unknown) =>
      log.error({ err: error }, "the store cannot be written");
    const probe = new WriteProbe(store, onProbeError);
    let maintenance: Maintenance | undefined;
    return {
      store,
      keyring,
      onCredentialChange,
      startMaintenance(leaderJobs) {
        maintenance = startMaintenance({
          store,
          keyring,
          retentionMs: RETENTION_MS,
          retentionBeforeNewestMs: MARKET_ROW_RETENTION_MS,
          leaderJobs,
          now,
          onError,
        });
      },
      isLeader: () => maintenance?.leadership.isHeld() ?? false,
      isLed: async () => (await store.records.get(leases, LEADER_LEASE_NAME)) !== undefined,
      deriveKey: (purpose) => new Uint8Array(hkdfSync("sha256", masterKey, "", purpose, 32)),
      probe: () => probe.check(),
      async close() {
        await maintenance?.stop();
        await store.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/**
 * Opens the store. The PostgreSQL driver is loaded only if it is used, because few deployments need
 * it.
 */
async function openStore({
  choice,
  mode,
  now,
  storeNow,
  log,
}: PersistentStateOptions): Promise<Store> {
  const onWarning = (text: string, err?: unknown) => log.warn({ err }, text);
  const { folder, databaseUrl: url } = choice;
  if (url === undefined) {
    return openEmbedded({ folder, mode, mustSettle: true, now: storeNow ?? now, onWarning });
  }
  // Scores, the last checkpoint and the operator's socket are in the folder on PostgreSQL, too.
  createFolder(folder);
  const { openPostgres } = await import("./store/postgres/open.ts");
  return openPostgres({ url, mode, mustSettle: true, onWarning });
}

/**
 * Wraps a store so that its commits are measured. The identity is read on every access, since
 * loading a dump changes the identity.
 */
function measured(store: Store, meters: Meters): Store {
  const records = measuredRecords(store.records, meters);
  return Object.defineProperty({ ...store, records }, "identity", {
    enumerable: true,
    get: () => store.identity,
  });
}

async function openMasterKey(
  { records }: Store,
  { masterKey: fromEnv, folder }: StoreSettings,
): Promise<Uint8Array> {
  return readMasterKey({ fromEnv, folder, holdsKeys: await hasStoredKeys(records) });
}
