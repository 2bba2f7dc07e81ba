import { serveAdmin } from "../../src/cli/admin-socket.ts";
import { readStoreSettings } from "../../src/config/config.ts";
import { hasStoredKeys } from "../../src/keys/key-records.ts";
import { openKeyring } from "../../src/keys/keyring.ts";
import { readMasterKey } from "../../src/keys/master-key.ts";
import { startMaintenance } from "../../src/maintenance/maintenance.ts";
import { put } from "../../src/store/port/operations.ts";
import { collection, type Records } from "../../src/store/port/records.ts";
import { openPostgres } from "../../src/store/postgres/open.ts";
import { openEmbedded } from "../../src/store/sqlite/open.ts";

// A server that opens a store and accepts admin commands, as the service does. When it runs as a
// process of its own, it prints `ready`. With LOAD set, it writes records continuously and prints
// their number.

/** Number of concurrent writers under load. */
const WRITERS = 20;

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Starts the server in this process.
 *
 * @param write Receives its output, line by line.
 * @returns A function that stops it.
 */
export async function startStoreServer(
  env: Env,
  write: (line: string) => void = () => {},
): Promise<() => Promise<void>> {
  const { folder, databaseUrl, masterKey: fromEnv } = readStoreSettings(env);
  const now = Date.now;
  const store =
    databaseUrl === undefined
      ? await openEmbedded({ folder, mode: "sandbox", now })
      : await openPostgres({ url: databaseUrl, mode: "sandbox" });
  const { records } = store;
  const places = { fromEnv, folder, holdsKeys: await hasStoredKeys(records) };
  const keyring = await openKeyring({ records, masterKey: readMasterKey(places), now });
  const maintenance = startMaintenance({ store, keyring, now, onError: () => {} });
  const context = { store, folder, keyring: async () => keyring, now, holder: "server" as const };
  const admin = await serveAdmin({ folder, context, databaseUrl });
  const stopping = new AbortController();
  const loading = env.LOAD === undefined ? undefined : load(records, stopping.signal, write);
  write("ready");
  return async () => {
    stopping.abort();
    await loading;
    await admin.close();
    await maintenance.stop();
    await store.close();
  };
}

/** Writes records; all records up to the number that was printed last are durable. */
async function load(to: Records, signal: AbortSignal, write: (line: string) => void) {
  const notes = collection<number>("load");
  for (let round = 0; !signal.aborted; round += 1) {
    const numbers = Array.from({ length: WRITERS }, (_, at) => round * WRITERS + at);
    await Promise.all(numbers.map((value) => to.commit([put(notes, { key: `${value}`, value })])));
    write(`${(round + 1) * WRITERS}`);
  }
}

if (import.meta.main) {
  const stop = await startStoreServer(process.env, (line) => process.stdout.write(`${line}\n`));
  process.once("SIGTERM", () => void stop().then(() => process.exit(0)));
}
