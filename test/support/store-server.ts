import { serveAdmin } from "../../src/cli/admin-socket.ts";
import { readStoreChoice } from "../../src/config.ts";
import { openEmbedded } from "../../src/store/embedded/open.ts";
import { holdsKeys } from "../../src/store/key-records.ts";
import { openKeyring } from "../../src/store/keyring.ts";
import { readMasterKey } from "../../src/store/master-key.ts";
import { put } from "../../src/store/operations.ts";
import { openPostgres } from "../../src/store/postgres/open.ts";
import { collection, type Records } from "../../src/store/records.ts";
import { startUpkeep } from "../../src/store/upkeep.ts";

// A process that holds a store and takes the operator's commands, as the service does. It says
// `ready`; with LOAD set, it writes on and on, and says how many records it has written.

/** Writers at once under load. */
const WRITERS = 20;

const { folder, databaseUrl, masterKey: fromEnv } = readStoreChoice(process.env);
const now = Date.now;
const store =
  databaseUrl === undefined
    ? await openEmbedded({ folder, mode: "sandbox", now })
    : await openPostgres({ url: databaseUrl, mode: "sandbox" });
const { records } = store;
const places = { fromEnv, folder, holdsKeys: await holdsKeys(records) };
const keyring = await openKeyring({ records, masterKey: readMasterKey(places), now });
const upkeep = startUpkeep({ store, keyring, now, onError: () => {} });
const context = { store, keyring: async () => keyring, now, holder: "server" as const };
const admin = await serveAdmin({ folder, context, databaseUrl });
const stopping = new AbortController();
const loading = process.env.LOAD === undefined ? undefined : load(records);
process.stdout.write("ready\n");
process.once("SIGTERM", () => void end());

async function end(): Promise<void> {
  stopping.abort();
  await loading;
  await admin.close();
  await upkeep.stop();
  await store.close();
  process.exit(0);
}

/** Every record up to the number that was said last is durable. */
async function load(to: Records): Promise<void> {
  const notes = collection<number>("load");
  for (let round = 0; !stopping.signal.aborted; round += 1) {
    const numbers = Array.from({ length: WRITERS }, (_, at) => round * WRITERS + at);
    await Promise.all(numbers.map((value) => to.commit([put(notes, { key: `${value}`, value })])));
    process.stdout.write(`${(round + 1) * WRITERS}\n`);
  }
}
