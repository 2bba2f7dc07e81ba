import type { StoreChoice } from "../config.ts";
import type { OnProgress } from "../store/copies/progress.ts";
import { openEmbedded } from "../store/embedded/open.ts";
import { holdsKeys } from "../store/key-records.ts";
import { openKeyring } from "../store/keyring.ts";
import { readMasterKey } from "../store/master-key.ts";
import { openPostgres } from "../store/postgres/open.ts";
import type { Store } from "../store/store.ts";
import type { Command, CommandContext, OpenedStore, Outcome } from "./command.ts";
import { refuseStoreFiles } from "./store-files.ts";

/** A command and what it is given. */
export interface DirectRun {
  readonly command: Command;
  readonly args: unknown;
  readonly settings: StoreChoice;
}

/** Does a command in this process, which opens the store for it. */
export async function runDirectly(
  { command, args, settings }: DirectRun,
  onProgress: OnProgress,
): Promise<Outcome> {
  await refuseStoreFiles(args, settings.folder);
  const opened = command.open
    ? await command.open(args, settings)
    : keeping(await openExisting(settings));
  const { store, finish } = opened;
  const outcome = await runOn(opened, { command, args, settings }, onProgress);
  await store.close();
  return { ...outcome, notes: [...outcome.notes, ...(await finish())] };
}

async function runOn(
  { store, abandon }: OpenedStore,
  { command, args, settings }: DirectRun,
  onProgress: OnProgress,
): Promise<Outcome> {
  try {
    return await command.run(args, contextOf(store, settings), onProgress);
  } catch (error) {
    await store.close();
    await abandon();
    throw error;
  }
}

/** Opens the store that is there. */
export function openExisting({ folder, databaseUrl }: StoreChoice): Promise<Store> {
  return databaseUrl === undefined
    ? openEmbedded({ folder, now: Date.now })
    : openPostgres({ url: databaseUrl });
}

/** A store that stays where it is. */
export function keeping(store: Store): OpenedStore {
  return { store, finish: async () => [], abandon: async () => {} };
}

function contextOf(store: Store, { folder, masterKey }: StoreChoice): CommandContext {
  const { records } = store;
  return {
    store,
    now: Date.now,
    holder: "command",
    async keyring() {
      const places = { fromEnv: masterKey, folder, holdsKeys: await holdsKeys(records) };
      return openKeyring({ records, masterKey: readMasterKey(places), now: Date.now });
    },
  };
}
