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
import { type LastUse, lastUseRemoval } from "../last-use.ts";
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

/** API keys. */
export interface ApiKeys {
  /** A new key and the steps that store it, for a commit with other changes. The key itself cannot
   *  be read again. */
  prepare(key: NewApiKey): {
    readonly key: string;
    readonly id: string;
    readonly steps: readonly Operation[];
  };

  /** Creates a key. It cannot be read again. */
  create(key: NewApiKey): Promise<{ readonly key: string; readonly id: string }>;

  /** Creates a key for a person. @returns `undefined` when they have `KEYS_PER_ACCOUNT` keys, or
   *  their account was deleted. */
  createFor(
    accountId: string,
    key: Pick<NewApiKey, "name" | "scopes">,
  ): Promise<{ readonly key: string; readonly id: string } | undefined>;

  /** Finds the key for a presented text, and records its use. A text that cannot be a key of this
   *  service is rejected without a query. */
  find(presented: string): Promise<StoredApiKey | undefined>;

  /** All keys, or those of an account, oldest first. */
  list(accountId?: string): Promise<readonly ApiKey[]>;

  /** Revokes a key. @param accountId If given, the key must belong to this account. @returns
   *  Whether a key was revoked. */
  revoke(id: string, by: string, accountId?: string): Promise<boolean>;
}

/** Options of `createApiKeys`. */
export interface ApiKeysOptions {
  readonly records: Records;
  /** Mode of the store. A key is valid only in the mode in which it was created. */
  readonly mode: StoreMode;
  readonly now: () => Date;
  readonly audit: Auditor;
  readonly lastUse: LastUse;
}

/** Keys by the hash of their text. */
export const apiKeys = collection<StoredApiKey>("api-keys");

/** Length of an id, in random characters. */
const ID_LENGTH = 16;

const ID = /^key_[0-9A-Za-z]{16}$/;

/** Group of a key and of everything that is deleted with it, in all collections. */
export const apiKeyGroup = (id: string): string => `api-key:${id}`;

/** Creates the store of API keys. */
export function createApiKeys(options: ApiKeysOptions): ApiKeys {
  const { records, mode, lastUse } = options;
  return {
    prepare: (key) => created(key, options),
    async create(wanted) {
      const { key, id, steps } = created(wanted, options);
      await records.commit(steps);
      return { key, id };
    },
    createFor: (accountId, key) => createFor({ ...key, accountId, actor: accountId }, options),
    async find(presented) {
      if (!isWellFormedKey(presented, mode)) return undefined;
      const stored = await records.get(apiKeys, fingerprint(presented));
      if (stored !== undefined) lastUse.record(stored.value.id);
      return stored?.value;
    },
    async list(accountId) {
      const group = accountId === undefined ? undefined : accountRecordsGroup(accountId);
      const keys = (await readAll(records, apiKeys, group)).map(({ value }) => value);
      const usedAt = await lastUse.of(keys.map(({ id }) => id));
      return keys.map((key) => ({ ...key, lastUsedAt: usedAt.get(key.id) }));
    },
    revoke: (id, by, accountId) => revoke({ id, by, accountId }, options),
  };
}

function created(wanted: NewApiKey, { mode, now, audit }: ApiKeysOptions) {
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

/** Counts the keys of the account and commits; repeats if a concurrent request changed the
 *  count. */
async function createFor(
  wanted: NewApiKey & { readonly accountId: string },
  options: ApiKeysOptions,
): ReturnType<ApiKeys["createFor"]> {
  const { records } = options;
  const group = accountRecordsGroup(wanted.accountId);
  const lock = { key: `api-keys ${wanted.accountId}`, groups: [group] };
  for (;;) {
    const account = await records.get(accounts, wanted.accountId);
    const version = await readVersion(records, lock);
    const own = await records.list(apiKeys, { group, limit: KEYS_PER_ACCOUNT });
    if (account === undefined || own.length === KEYS_PER_ACCOUNT) return undefined;
    const { key, id, steps } = created(wanted, options);
    const counted = [unchanged(accounts, account), incrementVersion(lock, version)];
    if (await records.commit([...counted, ...steps])) return { key, id };
  }
}

async function revoke(
  { id, by: actor, accountId }: { id: string; by: string; accountId: string | undefined },
  { records, audit }: ApiKeysOptions,
): Promise<boolean> {
  if (!ID.test(id)) return false;
  for (;;) {
    const [stored] = await records.list(apiKeys, { group: apiKeyGroup(id), limit: 1 });
    const isTheirs = accountId === undefined || stored?.value.accountId === accountId;
    if (stored === undefined || !isTheirs) return false;
    const gone = [removeAt(apiKeys, stored), removeGroup(apiKeyGroup(id)), lastUseRemoval(id)];
    const entry = { action: "key.revoked", actor, target: id };
    if (await records.commit([...gone, ...audit(entry)])) return true;
  }
}
