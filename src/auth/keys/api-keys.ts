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
import { hintOf, isKeyText, newKeyText } from "./key-format.ts";

/** A long-lived key. Only its hash is stored. */
export interface ApiKey {
  /** `key_` and random characters; names the key without giving it away. */
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** The first characters of the key, to recognize it by. */
  readonly hint: string;
  /** The account it belongs to; absent for keys of the operator. */
  readonly accountId: string | undefined;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly expiresAt: number | undefined;
  /** To the hour; `undefined` when never. */
  readonly lastUsedAt: number | undefined;
}

/** Stored form of a key; the last use is stored apart. */
type KeptKey = Omit<ApiKey, "lastUsedAt">;

/** What a new key is made from. */
interface NewApiKey {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly accountId?: string;
  /** Life in milliseconds. Absent: until it is revoked. */
  readonly ttlMs?: number;
  /** Who makes it, for the audit: an account id, `operator` or `system`. */
  readonly by: string;
  /** Groups that it goes with. */
  readonly groups?: readonly string[];
}

/** Most keys that a person can have. */
export const KEYS_PER_ACCOUNT = 5;

/** API keys. */
export interface ApiKeys {
  /** A new key and the steps that store it, for a commit with something else. The key is
   *  returned only here. */
  created(key: NewApiKey): {
    readonly key: string;
    readonly id: string;
    readonly steps: readonly Operation[];
  };

  create(key: NewApiKey): Promise<{ readonly key: string; readonly id: string }>;

  /** Makes one for a person. @returns `undefined` when they have `KEYS_PER_ACCOUNT` already, or are
   *  not there any more. */
  createFor(
    accountId: string,
    key: Pick<NewApiKey, "name" | "scopes">,
  ): Promise<{ readonly key: string; readonly id: string } | undefined>;

  /** The key behind what a caller presented; notes the use. Something that cannot be a key of this
   *  service is refused without a look into the store. */
  find(presented: string): Promise<KeptKey | undefined>;

  /** All keys, or those of an account; oldest first. */
  list(accountId?: string): Promise<readonly ApiKey[]>;

  /** @param accountId Only if it belongs to this account. @returns Whether there was one. */
  revoke(id: string, by: string, accountId?: string): Promise<boolean>;
}

/** What the key store works with. */
export interface ApiKeysOptions {
  readonly records: Records;
  /** Of the store: a key is only good where it was made, for the real market or not. */
  readonly mode: StoreMode;
  readonly now: () => Date;
  readonly audit: Auditor;
  readonly lastUse: LastUse;
}

/** Keys by the fingerprint of their text. */
export const apiKeys = collection<KeptKey>("api-keys");

/** Random characters of an id. */
const ID_LENGTH = 16;

const ID = /^key_[0-9A-Za-z]{16}$/;

/** Group of a key and of everything that ends with it, in all collections. */
export const apiKeyGroup = (id: string): string => `api-key:${id}`;

/** Creates the keeper of API keys. */
export function createApiKeys(options: ApiKeysOptions): ApiKeys {
  const { records, mode, lastUse } = options;
  return {
    created: (key) => created(key, options),
    async create(wanted) {
      const { key, id, steps } = created(wanted, options);
      await records.commit(steps);
      return { key, id };
    },
    createFor: (accountId, key) => createFor({ ...key, accountId, by: accountId }, options),
    async find(presented) {
      if (!isKeyText(presented, mode)) return undefined;
      const stored = await records.get(apiKeys, fingerprint(presented));
      if (stored !== undefined) lastUse.note(stored.value.id);
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
  const { by, ttlMs, groups = [], accountId, name, scopes } = wanted;
  const key = newKeyText(mode);
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
  return { key, id, steps: [placed, ...audit({ action: "key.created", actor: by, target: id })] };
}

/** Counts the keys of the account and commits; tries again when another request created one
 *  meanwhile. */
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
  { id, by, accountId }: { id: string; by: string; accountId: string | undefined },
  { records, audit }: ApiKeysOptions,
): Promise<boolean> {
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
