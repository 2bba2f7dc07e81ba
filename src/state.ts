import type { Logger } from "pino";
import { ATTEMPT_KIND, EVENT_KIND, EVENTS_KEPT_MS } from "./alerts/delivery.ts";
import type { StoreChoice } from "./config.ts";
import type { Check } from "./http/readiness.ts";
import { ROWS_KEPT_MS } from "./ingest/rows.ts";
import { openEmbedded } from "./store/embedded/open.ts";
import { holdsKeys } from "./store/key-records.ts";
import { type Keyring, openKeyring } from "./store/keyring.ts";
import { readMasterKey } from "./store/master-key.ts";
import { put } from "./store/operations.ts";
import { openPostgres } from "./store/postgres/open.ts";
import { probes } from "./store/probes.ts";
import type { Store, StoreMode } from "./store/store.ts";
import { type LeadersWork, startUpkeep, type Upkeep } from "./store/upkeep.ts";

/** One write answers every readiness check of this many milliseconds, so that checks cost the disk
 *  nothing however many come. */
const PROBE_SHARED_MS = 1_000;

/** How long the archive keeps what alerts and live markets leave in it, in milliseconds. */
const KEPT_MS = {
  ...{ [EVENT_KIND]: EVENTS_KEPT_MS, [ATTEMPT_KIND]: EVENTS_KEPT_MS },
  ...ROWS_KEPT_MS,
};

/** What the state is opened with. */
export interface StateOptions {
  readonly choice: StoreChoice;
  readonly mode: StoreMode;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Clock of the embedded store: leases, and what is due or expires, go by it. PostgreSQL has its
   *  own. Milliseconds since the epoch; absent: `now`. */
  readonly storeNow?: (() => number) | undefined;
  readonly log: Logger;
}

/** Everything of the service that outlives the process. */
export interface State {
  readonly store: Store;
  readonly keyring: Keyring;
  /** Begins to look after the store. To be called when nothing will block the process for long any
   *  more: a leader that does not answer is replaced. */
  startUpkeep(leadersWork: readonly LeadersWork[]): void;
  /** Whether a write reaches the disk now. */
  probe(): Promise<Check>;
  /** Ends the work under way and lets go of the store. */
  close(): Promise<void>;
}

/** @throws {Error} When there is a store that cannot or must not be opened; says what to do. */
export async function openState(options: StateOptions): Promise<State> {
  const { choice, now, log } = options;
  const store = await openStore(options);
  try {
    const keyring = await openKeys(store, choice, now);
    const onError = (error: unknown) => log.error({ err: error }, "upkeep of the store failed");
    let upkeep: Upkeep | undefined;
    return {
      store,
      keyring,
      startUpkeep(leadersWork) {
        upkeep = startUpkeep({ store, keyring, keptMs: KEPT_MS, leadersWork, now, onError });
      },
      probe: createProbe(store, log),
      async close() {
        await upkeep?.stop();
        await store.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

function openStore({ choice, mode, now, storeNow, log }: StateOptions): Promise<Store> {
  const onWarning = (text: string, err?: unknown) => log.warn({ err }, text);
  const { folder, databaseUrl: url } = choice;
  return url === undefined
    ? openEmbedded({ folder, mode, now: storeNow ?? now, onWarning })
    : openPostgres({ url, mode, onWarning });
}

async function openKeys(
  { records }: Store,
  { masterKey: fromEnv, folder }: StoreChoice,
  now: () => number,
): Promise<Keyring> {
  const places = { fromEnv, folder, holdsKeys: await holdsKeys(records) };
  return openKeyring({ records, masterKey: readMasterKey(places), now });
}

function createProbe({ records, engine }: Store, log: Logger): () => Promise<Check> {
  let last: { readonly startedAt: number; readonly check: Promise<Check> } | undefined;
  const write = async (startedAt: number): Promise<Check> => {
    try {
      await records.commit([put(probes, { key: "readyz", value: {} })]);
      const ms = Math.round(performance.now() - startedAt);
      return { ok: true, detail: `${engine}: a write took ${ms} ms` };
    } catch (error) {
      log.error({ err: error }, "the store cannot be written");
      return { ok: false, detail: `${engine}: cannot be written` };
    }
  };
  return () => {
    const startedAt = performance.now();
    if (last === undefined || startedAt - last.startedAt > PROBE_SHARED_MS) {
      last = { startedAt, check: write(startedAt) };
    }
    return last.check;
  };
}
