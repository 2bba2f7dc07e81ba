import type { Store } from "../../src/store/port/store.ts";
import { openPostgres } from "../../src/store/postgres/open.ts";
import { openEmbedded } from "../../src/store/sqlite/open.ts";

/** Opens the store of a storm, and creates it the first time: a folder, or a database's URL. */
export function openStore(address: string): Promise<Store> {
  const mode = "sandbox";
  return address.startsWith("postgres")
    ? openPostgres({ url: address, mode })
    : openEmbedded({ folder: address, mode, now: Date.now });
}
