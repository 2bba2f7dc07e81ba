import { holdsKeys, KEYS_TOPIC } from "../../store/key-records.ts";
import { announce } from "../../store/operations.ts";
import type { CommandContext } from "../command.ts";

/**
 * Makes every process follow the keys that came with an import or a backup.
 *
 * @returns What the operator has to know: empty when the keys can be used.
 */
export async function keysNotes({ store, keyring }: CommandContext): Promise<readonly string[]> {
  if (!(await holdsKeys(store.records))) return [];
  await store.records.commit([announce(KEYS_TOPIC)]);
  try {
    await (await keyring()).reload();
    return [];
  } catch (error) {
    return [`Warning: ${error instanceof Error ? error.message : error}.`];
  }
}
