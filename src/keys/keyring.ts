import { createHmac } from "node:crypto";
import type { RecordReader, Records, Stored } from "../store/port/records.ts";
import { transact } from "../store/transact.ts";
import {
  createFirstKey,
  createSuccessorKey,
  decryptKey,
  deleteKey,
  hasKeyRetentionEnded,
  type Key,
  type KeyChanger,
  type KeyRecord,
  keyRecords,
} from "./key-records.ts";
import { type KeyUse, keyUses } from "./key-uses.ts";
import { createVault, type Vault } from "./vault.ts";

/** Upper limit on the number of keys that are read; never reached in practice. */
const ALL = 10_000;

/** Length of an address hash, in bytes; long enough to make collisions negligible. */
const ADDRESS_HASH_BYTES = 16;

/** Dependencies of `openKeyring`. */
interface KeyringOptions {
  readonly records: Records;
  /** The master key, 32 bytes. */
  readonly masterKey: Uint8Array;
  /** The current time, in milliseconds since the epoch. */
  readonly now: () => number;
}

/** The keys of the service, decrypted in memory. */
export interface Keyring {
  /** All keys of a use, newest first; never empty. */
  keys<U extends KeyUse>(use: U): readonly [Key<U>, ...Key<U>[]];

  /** HMAC-SHA256 of a network address, truncated to 16 bytes, in base64url. */
  hashAddress(address: string): string;

  /**
   * Creates a new key. The previous key is retained until nothing produced with it is in use.
   *
   * @returns The kid of the new key.
   */
  rotate(use: KeyUse, by: KeyChanger): Promise<string>;

  /**
   * Removes keys whose retention has ended.
   *
   * @returns The number of removed keys.
   */
  removeEnded(): Promise<number>;

  /** Reads key changes that other processes have made. */
  reload(): Promise<void>;

  /**
   * Subscribes to changes of the keys in memory.
   *
   * @returns A function that unsubscribes.
   */
  onChange(listener: () => void): () => void;
}

/**
 * Loads the keys of a store, and creates the first key of every use that has none. Processes that
 * start concurrently end up with the same keys.
 *
 * @throws {Error} If the master key does not match the keys of the store.
 */
export async function openKeyring({ records, masterKey, now }: KeyringOptions): Promise<Keyring> {
  const vault = createVault(masterKey);
  const index = new KeyIndex(records, vault);
  await makeMissing(index, { records, vault, now });

  const keys = <U extends KeyUse>(use: U) =>
    index.of(use).map(({ key }) => key) as unknown as readonly [Key<U>, ...Key<U>[]];
  return {
    keys,
    hashAddress(address) {
      const secret = Buffer.from(keys("address-hash")[0].jwk.k, "base64url");
      const hash = createHmac("sha256", secret).update(address).digest();
      return hash.subarray(0, ADDRESS_HASH_BYTES).toString("base64url");
    },
    async rotate(use, by) {
      const at = now();
      const kid = await transact(records, async (tx) => {
        const [newest] = newestFirst(await readKeys(tx), use);
        if (newest === undefined) throw new Error(`The store has no key of the use ${use}.`);
        return createSuccessorKey(tx, newest, { vault, now: at, by });
      });
      await index.reload();
      return kid;
    },
    async removeEnded() {
      const at = now();
      const count = await transact(records, async (tx) => {
        const ended = (await readKeys(tx)).filter(({ value }) => hasKeyRetentionEnded(value, at));
        for (const stored of ended) deleteKey(tx, stored, at);
        return ended.length;
      });
      if (count > 0) await index.reload();
      return count;
    },
    reload: () => index.reload(),
    onChange: (listener) => index.onChange(listener),
  };
}

/** A decrypted key with its stored record. */
interface Entry {
  readonly stored: Stored<KeyRecord>;
  readonly key: Key;
}

/** The keys of a store in memory, by use. */
class KeyIndex {
  readonly #records: Records;
  readonly #vault: Vault;
  readonly #listeners = new Set<() => void>();
  #entries: readonly Entry[] = [];
  #loading = Promise.resolve();

  constructor(records: Records, vault: Vault) {
    this.#records = records;
    this.#vault = vault;
  }

  /** The keys of a use, newest first. */
  of(use: KeyUse): readonly Entry[] {
    return this.#entries
      .filter(({ stored }) => stored.value.use === use)
      .toSorted((a, b) => b.stored.value.generation - a.stored.value.generation);
  }

  /**
   * Reloads the keys. Reloads run one after another, so that an older reload cannot finish last.
   */
  reload(): Promise<void> {
    const load = () => this.#load();
    this.#loading = this.#loading.then(load, load);
    return this.#loading;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async #load(): Promise<void> {
    const stored = await readKeys(this.#records);
    if (isSame(stored, this.#entries)) return;
    this.#entries = stored.map((each) => ({
      stored: each,
      key: openStoredKey(each.value, this.#vault),
    }));
    for (const listener of this.#listeners) listener();
  }
}

/** The stored keys. A later version may have added key uses, which this version ignores. */
async function readKeys(records: RecordReader): Promise<readonly Stored<KeyRecord>[]> {
  const found = await records.list(keyRecords, { limit: ALL });
  return found.filter(({ value }) => value.use in keyUses);
}

const newestFirst = (keys: readonly Stored<KeyRecord>[], use: KeyUse) =>
  keys
    .filter(({ value }) => value.use === use)
    .toSorted((a, b) => b.value.generation - a.value.generation);

function isSame(stored: readonly Stored<KeyRecord>[], entries: readonly Entry[]): boolean {
  const before = entries.map((entry) => entry.stored.revision);
  return stored.map(({ revision }) => revision).join() === before.join();
}

/**
 * Decrypts a stored key.
 *
 * @throws {Error} When the key was encrypted with another master key; the message tells the
 * operator what to do.
 */
function openStoredKey(record: KeyRecord, vault: Vault): Key {
  try {
    return decryptKey(record, vault);
  } catch (cause) {
    const what = "the keys of this store were made under another master key";
    const todo = "put back the master.key, or set the MASTER_KEY, that it was created with";
    throw new Error(`${what}: ${todo}`, { cause });
  }
}

async function makeMissing(
  index: KeyIndex,
  { records, vault, now }: { records: Records; vault: Vault; now: () => number },
): Promise<void> {
  const change = { vault, now: now(), by: { actor: "system" } };
  await index.reload();
  await transact(records, async (tx) => {
    const stored = await readKeys(tx);
    for (const use of Object.keys(keyUses) as KeyUse[]) {
      if (newestFirst(stored, use).length === 0) createFirstKey(tx, use, change);
    }
  });
  await index.reload();
}
