import { randomBase62 } from "../../lib/base62.ts";
import { fingerprint } from "../../lib/fingerprint.ts";
import { incrementVersion, readVersion } from "../../store/optimistic-lock.ts";
import { insert, removeAt, removeGroup, unchanged } from "../../store/port/operations.ts";
import { readAll } from "../../store/port/read-all.ts";
import { collection, type Operation, type Records } from "../../store/port/records.ts";
import type { StoreMode } from "../../store/port/store.ts";
import { accounts } from "../accounts/accounts.ts";
import { accountRecordsGroup } from "../agents/agent.ts";
import type { Auditor } from "../auditor.ts";
import { type LastUseTracker, lastUseRemoval } from "../last-use.ts";
import type { Scope } from "../scopes.ts";
import { generateKey, hintOf, isWellFormedKey } from "./key-format.ts";

/** An API key; only its hash is stored. */
export interface ApiKey {
  /** `key_` and random characters; identifies the key without revealing it. */
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Prefix and first random characters, by which people recognize the key. */
  readonly hint: string;
  /** The account that owns it; `undefined` for keys of the operator. */
  readonly accountId: string | undefined;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Expiry in milliseconds since the epoch; `undefined` if it does not expire. */
  readonly expiresAt: number | undefined;
  /** Milliseconds since the epoch, accurate to the hour; `undefined` if never used. */
  readonly lastUsedAt: number | undefined;
}

/** A key as it is stored; its last use is a record of its own. */
type StoredApiKey = Omit<ApiKey, "lastUsedAt">;

/** Input of `ApiKeys.create`. */
interface NewApiKey {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly accountId?: string;
  /** Lifetime in milliseconds; absent for a key that does not expire. */
  readonly ttlMs?: number;
  /** Actor of the audit row: an account id, `operator` or `system`. */
  readonly actor: string;
  /** Groups with which the key is deleted. */
  readonly groups?: readonly string[];
}

/** Maximum number of keys of a person. */
export const KEYS_PER_ACCOUNT = 5;

/** Dependencies of the API keys. */
interface ApiKeysOptions {
  readonly records: Records;
  /** Mode of the store. A key is valid only in the mode in which it was created. */
  readonly mode: StoreMode;
  readonly now: () => Date;
  readonly audit: Auditor;
  readonly lastUse: LastUseTracker;
}

/** Keys by the hash of their text. */
export const apiKeys = collection<StoredApiKey>("api-keys");

/** Length of an id, in random characters. */
const ID_LENGTH = 16;

const ID = /^key_[0-9A-Za-z]{16}$/;

/** Group of a key and of everything that is deleted with it, in all collections. */
export const apiKeyGroup = (id: string): string => `api-key:${id}`;

/** A key that was created. It cannot be read again. */
interface CreatedKey {
  readonly key: string;
  readonly id: string;
}

/** The API keys of a store. */
export class ApiKeys {
  readonly #options: ApiKeysOptions;

  constructor(options: ApiKeysOptions) {
    this.#options = options;
  }

  /** A new key and the steps that store it, for a commit with other changes. */
  prepare(wanted: NewApiKey): CreatedKey & { readonly steps: readonly Operation[] } {
    const { mode, now, audit } = this.#options;
    const { actor, ttlMs, groups = [], accountId, name, scopes } = wanted;
    const key = generateKey(mode);
    const id = `key_${randomBase62(ID_LENGTH)}`;
    const createdAt = now().getTime();
    const expiresAt = ttlMs === undefined ? undefined : createdAt + ttlMs;
    const owner = accountId === undefined ? [] : [accountRecordsGroup(accountId)];
    const placed = insert(apiKeys, {
      key: fingerprint(key),
      value: { id, name, scopes, hint: hintOf(key), accountId, createdAt, expiresAt },
      groups: [apiKeyGroup(id), ...owner, ...groups],
      ...(ttlMs !== undefined && { ttlMs }),
    });
    return { key, id, steps: [placed, ...audit({ action: "key.created", actor, target: id })] };
  }

  /** Creates a key. */
  async create(wanted: NewApiKey): Promise<CreatedKey> {
    const { key, id, steps } = this.prepare(wanted);
    await this.#options.records.commit(steps);
    return { key, id };
  }

  /** Creates a key for a person, again if a concurrent request changed the number of keys. @returns
   *  `undefined` when they have `KEYS_PER_ACCOUNT` keys, or their account was deleted. */
  async createFor(
    accountId: string,
    wanted: Pick<NewApiKey, "name" | "scopes">,
  ): Promise<CreatedKey | undefined> {
    const { records } = this.#options;
    const group = accountRecordsGroup(accountId);
    const lock = { key: `api-keys ${accountId}`, groups: [group] };
    for (;;) {
      const account = await records.get(accounts, accountId);
      const version = await readVersion(records, lock);
      const own = await records.list(apiKeys, { group, limit: KEYS_PER_ACCOUNT });
      if (account === undefined || own.length === KEYS_PER_ACCOUNT) return undefined;
      const { key, id, steps } = this.prepare({ ...wanted, accountId, actor: accountId });
      const counted = [unchanged(accounts, account), incrementVersion(lock, version)];
      if (await records.commit([...counted, ...steps])) return { key, id };
    }
  }

  /** Finds the key for a presented text, and records its use. A text that cannot be a key of this
   *  service is rejected without a query. */
  async find(presented: string): Promise<StoredApiKey | undefined> {
    const { records, mode, lastUse } = this.#options;
    if (!isWellFormedKey(presented, mode)) return undefined;
    const stored = await records.get(apiKeys, fingerprint(presented));
    if (stored !== undefined) lastUse.record(stored.value.id);
    return stored?.value;
  }

  /** All keys, or those of an account, oldest first. */
  async list(accountId?: string): Promise<readonly ApiKey[]> {
    const { records, lastUse } = this.#options;
    const group = accountId === undefined ? undefined : accountRecordsGroup(accountId);
    const keys = (await readAll(records, apiKeys, group)).map(({ value }) => value);
    const usedAt = await lastUse.of(keys.map(({ id }) => id));
    return keys.map((key) => ({ ...key, lastUsedAt: usedAt.get(key.id) }));
  }

  /** Revokes a key. @param accountId If given, the key must belong to this account. @returns
   *  Whether a key was revoked. */
  async revoke(id: string, by: string, accountId?: string): Promise<boolean> {
    const { records, audit } = this.#options;
    if (!ID.test(id)) return false;
    for (;;) {
      const [stored] = await records.list(apiKeys, { group: apiKeyGroup(id), limit: 1 });
      const isTheirs = accountId === undefined || stored?.value.accountId === accountId;
      if (stored === undefined || !isTheirs) return false;
      const gone = [removeAt(apiKeys, stored), removeGroup(apiKeyGroup(id)), lastUseRemoval(id)];
      const entry = { action: "key.revoked", actor: by, target: id };
      if (await records.commit([...gone, ...audit(entry)])) return true;
    }
  }
}
