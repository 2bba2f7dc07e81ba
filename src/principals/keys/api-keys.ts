import type { Auditor } from "../../access/auditor.ts";
import { deleteLastUse, type LastUseTracker } from "../../access/last-use.ts";
import type { Scope } from "../../access/scopes.ts";
import { randomBase62 } from "../../lib/base62.ts";
import { fingerprint } from "../../lib/fingerprint.ts";
import { readAll } from "../../store/port/read-all.ts";
import { collection, type Records } from "../../store/port/records.ts";
import type { StoreMode } from "../../store/port/store.ts";
import { readKept, removeKept } from "../../store/set-aside.ts";
import { type Transaction, transact } from "../../store/transact.ts";
import { accounts } from "../accounts/accounts.ts";
import { accountRecordsGroup } from "../agents/agent.ts";
import { apiKeyHint, generateApiKey, isWellFormedApiKey } from "./key-format.ts";

/** An API key; only its hash is stored. */
export interface ApiKey {
  /** `key_` and random characters; identifies the key without revealing its text. */
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Prefix and first random characters of the key, by which people recognize it. */
  readonly hint: string;
  /** The account that owns the key; `undefined` for keys of the operator. */
  readonly accountId: string | undefined;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Expiry in milliseconds since the epoch; `undefined` if the key does not expire. */
  readonly expiresAt: number | undefined;
  /** Last use in milliseconds since the epoch, accurate to the hour; `undefined` if never used. */
  readonly lastUsedAt: number | undefined;
}

/** A key as it is stored; its last use is a separate record. */
type StoredApiKey = Omit<ApiKey, "lastUsedAt">;

/** Input of `ApiKeyService.create`. */
interface NewApiKey {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly accountId?: string;
  /** Lifetime in milliseconds; absent for a key that does not expire. */
  readonly ttlMs?: number;
  /** Actor in the audit row: an account id, `operator` or `system`. */
  readonly actor: string;
  /** Groups whose removal also deletes the key. */
  readonly groups?: readonly string[];
}

/** Maximum number of keys that a person can have. */
export const MAX_API_KEYS_PER_ACCOUNT = 5;

/** Dependencies of `ApiKeyService`. */
interface ApiKeyServiceOptions {
  readonly records: Records;
  /** Mode of the store, test or live. A key is valid only in the mode in which it was created. */
  readonly mode: StoreMode;
  readonly now: () => Date;
  readonly audit: Auditor;
  readonly lastUse: LastUseTracker;
}

/** Keys by the hash of their text. */
export const apiKeys = collection<StoredApiKey>("api-keys", {
  groups: ({ id, accountId }) => [
    apiKeyGroup(id),
    ...(accountId === undefined ? [] : [accountRecordsGroup(accountId)]),
  ],
});

/** Number of random characters in an id. */
const ID_LENGTH = 16;

const ID = /^key_[0-9A-Za-z]{16}$/;

/** Group of a key and of everything that is deleted with it, in all collections. */
export const apiKeyGroup = (id: string): string => `api-key:${id}`;

/** A new key. Its text cannot be read again. */
interface CreatedKey {
  readonly key: string;
  readonly id: string;
}

/** The API keys in a store. */
export class ApiKeyService {
  readonly #options: ApiKeyServiceOptions;

  constructor(options: ApiKeyServiceOptions) {
    this.#options = options;
  }

  /** Generates a key and stores it in a transaction with other changes. */
  add(tx: Transaction, wanted: NewApiKey): CreatedKey {
    const { mode, now, audit } = this.#options;
    const { actor, ttlMs, groups, accountId, name, scopes } = wanted;
    const key = generateApiKey(mode);
    const id = `key_${randomBase62(ID_LENGTH)}`;
    const createdAt = now().getTime();
    const expiresAt = ttlMs === undefined ? undefined : createdAt + ttlMs;
    tx.insert(apiKeys, {
      key: fingerprint(key),
      value: { id, name, scopes, hint: apiKeyHint(key), accountId, createdAt, expiresAt },
      ...(groups !== undefined && { groups }),
      ...(ttlMs !== undefined && { ttlMs }),
    });
    audit(tx, { action: "key.created", actor, target: id });
    return { key, id };
  }

  /** Generates a key and stores it. */
  create(wanted: NewApiKey): Promise<CreatedKey> {
    return transact(this.#options.records, (tx) => this.add(tx, wanted));
  }

  /**
   * Creates a key for a person.
   * @returns `undefined` when the person has `MAX_API_KEYS_PER_ACCOUNT` keys, or the account was
   * deleted.
   */
  createFor(
    accountId: string,
    wanted: Pick<NewApiKey, "name" | "scopes">,
  ): Promise<CreatedKey | undefined> {
    const group = accountRecordsGroup(accountId);
    return transact(this.#options.records, async (tx) => {
      const account = await tx.get(accounts, accountId);
      const own = await tx.list(apiKeys, { group, limit: MAX_API_KEYS_PER_ACCOUNT });
      if (account === undefined || own.length === MAX_API_KEYS_PER_ACCOUNT) return undefined;
      return this.add(tx, { ...wanted, accountId, actor: accountId });
    });
  }

  /**
   * Finds the key with the presented text, and records its use. A text that is not well-formed for
   * this mode is rejected without a query.
   */
  async find(presented: string): Promise<StoredApiKey | undefined> {
    const { records, mode, lastUse } = this.#options;
    if (!isWellFormedApiKey(presented, mode)) return undefined;
    const stored = await records.get(apiKeys, fingerprint(presented));
    if (stored !== undefined) lastUse.record(stored.value.id);
    return stored?.value;
  }

  /** All keys, or only the keys of one account, oldest first. */
  async list(accountId?: string): Promise<readonly ApiKey[]> {
    const { records, lastUse } = this.#options;
    const group = accountId === undefined ? undefined : accountRecordsGroup(accountId);
    const keys = (await readAll(records, apiKeys, group)).map(({ value }) => value);
    const usedAt = await lastUse.of(keys.map(({ id }) => id));
    return keys.map((key) => ({ ...key, lastUsedAt: usedAt.get(key.id) }));
  }

  /**
   * Revokes a key, also one of a disabled account.
   *
   * @param accountId If given, the key must belong to this account.
   * @returns Whether a key was revoked.
   */
  async revoke(id: string, by: string, accountId?: string): Promise<boolean> {
    const { records, audit } = this.#options;
    if (!ID.test(id)) return false;
    return transact(records, async (tx) => {
      const [stored] = await readKept(tx, apiKeys, apiKeyGroup(id));
      const isTheirs = accountId === undefined || stored?.value.accountId === accountId;
      if (stored === undefined || !isTheirs) return false;
      removeKept(tx, apiKeys, stored.key);
      tx.removeGroup(apiKeyGroup(id));
      deleteLastUse(tx, id);
      audit(tx, { action: "key.revoked", actor: by, target: id });
      return true;
    });
  }
}
