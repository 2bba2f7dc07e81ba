import { createHmac } from "node:crypto";
import type { Records, Stored } from "../port/records.ts";
import {
  firstKeySteps,
  hasEnded,
  type Key,
  type KeyChanger,
  type KeyRecord,
  keyRecords,
  keyRemovalSteps,
  openedKey,
  successorKeySteps,
} from "./key-records.ts";
import { type KeyUse, keyUses } from "./key-uses.ts";
import { createVault, type Vault } from "./vault.ts";

/** Upper bound on the number of keys. */
const ALL = 10_000;

/** Length of an address hash, in bytes: enough to make collisions negligible. */
const ADDRESS_HASH_BYTES = 16;

/** Dependencies of the keyring. */
export interface KeyringOptions {
  readonly records: Records;
  /** 32 bytes. */
  readonly masterKey: Uint8Array;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** The keys of the service, in memory. */
export interface Keyring {
  /** Newest first, never empty. */
  keys<U extends KeyUse>(use: U): readonly [Key<U>, ...Key<U>[]];

  /** HMAC-SHA256 of a network address, truncated to 16 bytes, in URL-safe base64. */
  hashAddress(address: string): string;

  /**
   * Creates a new key; the previous one is retained until nothing made with it is in use.
   *
   * @returns The kid of the new key.
   */
  rotate(use: KeyUse, by: KeyChanger): Promise<string>;

  /**
   * Removes keys past their retention.
   *
   * @returns How many were removed.
   */
  removeEnded(): Promise<number>;

  /** Reads changes by other processes. */
  reload(): Promise<void>;

  /**
   * Subscribes to changes of the keys in memory.
   *
   * @returns A function that unsubscribes.
   */
  onChange(listener: () => void): () => void;
}

/**
 * Opens the keys of a store and creates the first key of every use that has none. Processes that start
 * concurrently end up with the same keys.
 *
 * @throws {Error} If the master key does not match the store's keys.
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
      for (;;) {
        await index.reload();
        const [newest] = index.of(use) as [Entry];
        const { kid, steps } = successorKeySteps(newest.stored, { vault, now: now(), by });
        if (!(await records.commit(steps))) continue;
        await index.reload();
        return kid;
      }
    },
    async removeEnded() {
      const ended = index.all().filter(({ stored }) => hasEnded(stored.value, now()));
      const steps = ended.flatMap(({ stored }) => keyRemovalSteps(stored, now()));
      if (steps.length === 0 || !(await records.commit(steps))) return 0;
      await index.reload();
      return ended.length;
    },
    reload: () => index.reload(),
    onChange: (listener) => index.onChange(listener),
  };
}

/** A key with its record. */
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

  all(): readonly Entry[] {
    return this.#entries;
  }

  /** Newest first. */
  of(use: KeyUse): readonly Entry[] {
    return this.#entries
      .filter(({ stored }) => stored.value.use === use)
      .toSorted((a, b) => b.stored.value.generation - a.stored.value.generation);
  }

  /** Reloads run one after the other, so that an older one does not finish last. */
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
    const found = await this.#records.list(keyRecords, { limit: ALL });
    // A later version of the service may have added uses, which are ignored.
    const stored = found.filter(({ value }) => value.use in keyUses);
    if (isSame(stored, this.#entries)) return;
    this.#entries = stored.map((each) => ({
      stored: each,
      key: openStoredKey(each.value, this.#vault),
    }));
    for (const listener of this.#listeners) listener();
  }
}

function isSame(stored: readonly Stored<KeyRecord>[], entries: readonly Entry[]): boolean {
  const before = entries.map((entry) => entry.stored.revision);
  return stored.map(({ revision }) => revision).join() === before.join();
}

/** @throws {Error} When the key was made under another master key; says what to do. */
function openStoredKey(record: KeyRecord, vault: Vault): Key {
  try {
    return openedKey(record, vault);
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
  const by = { actor: "system" };
  for (;;) {
    await index.reload();
    const missing = Object.keys(keyUses).filter((use) => index.of(use as KeyUse).length === 0);
    if (missing.length === 0) return;
    const change = { vault, now: now(), by };
    await records.commit(missing.flatMap((use) => firstKeySteps(use as KeyUse, change)));
  }
}
