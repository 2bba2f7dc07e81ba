import type { Store } from "../../src/store/port/store.ts";
import { openPostgres } from "../../src/store/postgres/open.ts";
import { openEmbedded } from "../../src/store/sqlite/open.ts";

/**
 * Opens the store of a write load, or creates it.
 *
 * @param address Folder of the store, or URL of its database.
 */
export function openStore(address: string): Promise<Store> {
  const mode = "sandbox";
  return address.startsWith("postgres")
    ? openPostgres({ url: address, mode })
    : openEmbedded({ folder: address, mode, now: Date.now });
}
