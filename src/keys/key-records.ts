import { randomBytes } from "node:crypto";
import { type AuditEntry, writeAuditEntry } from "../store/audit-entry.ts";
import { collection, type Records, type Stored } from "../store/port/records.ts";
import type { Transaction } from "../store/transact.ts";
import { type JwkByUse, type KeyUse, keyUses } from "./key-uses.ts";
import type { Vault } from "./vault.ts";

/** Topic that announces that keys were created or removed. */
export const KEYS_TOPIC = "keys";

const KID_BYTES = 9;

/** A decrypted key. */
export interface Key<U extends KeyUse = KeyUse> {
  /**
   * Id of the key. It is stored with everything that the key produces, so that the key can be found
   * again.
   */
  readonly kid: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /**
   * When the key was superseded, in milliseconds since the epoch; `null` for the newest key. A
   * superseded key is used only for verifying or decrypting.
   */
  readonly retiredAt: number | null;
  readonly jwk: JwkByUse[U] & { readonly kid: string };
}

/** A stored key, whose secret part is encrypted. */
export interface KeyRecord extends Omit<Key, "jwk"> {
  readonly use: KeyUse;
  /** Number of the key among the keys of the same use, starting at 1. */
  readonly generation: number;
  /** The JWK, encrypted. */
  readonly sealed: string;
}

/** The actor of a key change, for the audit log. */
export type KeyChanger = Pick<AuditEntry, "actor" | "addressHash" | "requestId">;

/** Context of a key change. */
interface KeyChange {
  readonly vault: Vault;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly by: KeyChanger;
}

export const keyRecords = collection<KeyRecord>("keys");

/** Whether the store contains keys. They can be decrypted only with this store's master key. */
export async function hasStoredKeys(records: Records): Promise<boolean> {
  return (await records.list(keyRecords, { limit: 1 })).length > 0;
}

/** Decrypts a key. @throws {Error} If the master key is wrong or the record was tampered with. */
export function decryptKey(
  { kid, createdAt, retiredAt, use, sealed }: KeyRecord,
  vault: Vault,
): Key {
  const jwk = { ...JSON.parse(vault.open(sealed, contextOf(use, kid))), kid };
  return { kid, createdAt, retiredAt, jwk };
}

/** Creates the first key of a use that has none. */
export function createFirstKey(tx: Transaction, use: KeyUse, change: KeyChange): void {
  insertKey(tx, newRecord(use, 1, change), "key.created", change);
}

/** Adds a successor to the newest key of a use. @returns The kid of the successor. */
export function createSuccessorKey(
  tx: Transaction,
  newest: Stored<KeyRecord>,
  change: KeyChange,
): string {
  const { use, generation } = newest.value;
  const record = newRecord(use, generation + 1, change);
  tx.update(keyRecords, newest, { value: { ...newest.value, retiredAt: change.now } });
  insertKey(tx, record, "key.rotated", change);
  return record.kid;
}

/** Removes a key. */
export function deleteKey(tx: Transaction, ended: Stored<KeyRecord>, now: number): void {
  const { kid, use } = ended.value;
  tx.remove(keyRecords, ended.key);
  const entry = { action: "key.removed", actor: "system", target: kid, detail: { use } };
  writeAuditEntry(tx, entry, now);
  tx.announce(KEYS_TOPIC);
}

/**
 * Whether the retention of a key has ended, so that nothing produced with the key can still be in
 * use.
 */
export function hasKeyRetentionEnded({ use, retiredAt }: KeyRecord, now: number): boolean {
  return retiredAt !== null && retiredAt + keyUses[use].retentionMs <= now;
}

function newRecord(use: KeyUse, generation: number, { vault, now }: KeyChange): KeyRecord {
  const kid = randomBytes(KID_BYTES).toString("base64url");
  const sealed = vault.seal(JSON.stringify(keyUses[use].generate()), contextOf(use, kid));
  return { use, generation, kid, createdAt: now, retiredAt: null, sealed };
}

/**
 * Inserts a key. The record key is derived from the generation, so that only one of
 * several processes can create the next key.
 */
function insertKey(
  tx: Transaction,
  value: KeyRecord,
  action: string,
  { now, by }: KeyChange,
): void {
  const { use, generation, kid } = value;
  const entry = { ...by, action, target: kid, detail: { use } };
  tx.insert(keyRecords, { key: `${use}:${generation}`, value });
  writeAuditEntry(tx, entry, now);
  tx.announce(KEYS_TOPIC);
}

/** Encryption context that binds an encrypted key to its use and kid. */
const contextOf = (use: KeyUse, kid: string): string => `${use}:${kid}`;
