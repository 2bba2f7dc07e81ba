import type { Operation } from "../../store/records.ts";
import type { Scope } from "../scopes.ts";

/** A long-lived key (interface section 5.1). The key itself is kept as a hash only. */
export interface ApiKey {
  /** `key_` and random characters; names the key without giving it away. */
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** The first characters of the key, to recognise it by. */
  readonly hint: string;
  /** The account it belongs to; absent for keys of the operator. */
  readonly accountId: string | undefined;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly expiresAt: number | undefined;
  /** To the hour; `undefined` when never. */
  readonly lastUsedAt: number | undefined;
}

/** What a new key is made from. */
export interface NewApiKey {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly accountId?: string;
  /** Life in milliseconds. Absent: until it is revoked. */
  readonly ttlMs?: number;
  /** Who makes it, for the audit: an account id, `operator` or `system`. */
  readonly by: string;
}

/** Most keys that a person can have. */
export const KEYS_PER_ACCOUNT = 5;

/** API keys. */
export interface ApiKeys {
  /** A new key and the steps that keep it, for a commit with something else. The key is in no
   *  other answer ever again. */
  created(key: NewApiKey): {
    readonly key: string;
    readonly id: string;
    readonly steps: readonly Operation[];
  };

  create(key: NewApiKey): Promise<{ readonly key: string; readonly id: string }>;

  /** Makes one for a person. @returns `undefined` when they have `KEYS_PER_ACCOUNT` already. */
  createFor(
    accountId: string,
    key: Pick<NewApiKey, "name" | "scopes">,
  ): Promise<{ readonly key: string; readonly id: string } | undefined>;

  /** The key behind what a caller presented; notes the use. */
  find(presented: string): Promise<ApiKey | undefined>;

  /** All keys, or those of an account; oldest first. */
  list(accountId?: string): Promise<readonly ApiKey[]>;

  /** @param accountId Only if it belongs to this account. @returns Whether there was one. */
  revoke(id: string, by: string, accountId?: string): Promise<boolean>;
}
