import { randomBytes } from "node:crypto";
import { type AuditEntry, audited } from "../audit/entry.ts";
import { announce, insert, removeAt, replace } from "../port/operations.ts";
import { collection, type Operation, type Records, type Stored } from "../port/records.ts";
import { type JwkOf, type KeyUse, keyUses } from "./key-uses.ts";
import type { Vault } from "./vault.ts";

/** Topic announced when keys were created or removed. */
export const KEYS_TOPIC = "keys";

const KID_BYTES = 9;

/** A key in memory. */
export interface Key<U extends KeyUse = KeyUse> {
  /** Stored with what the key produced, to find the key again. */
  readonly kid: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /**
   * When it was superseded, in milliseconds since the epoch: since then it only verifies, or decrypts.
   * `null` for the newest.
   */
  readonly retiredAt: number | null;
  readonly jwk: JwkOf[U] & { readonly kid: string };
}

/** A stored key, with its secret encrypted. */
export interface KeyRecord extends Omit<Key, "jwk"> {
  readonly use: KeyUse;
  /** Numbers the keys of the use from 1. */
  readonly generation: number;
  /** The JWK, sealed. */
  readonly sealed: string;
}

/** The actor of a change of keys. */
export type KeyChanger = Pick<AuditEntry, "actor" | "addressHash" | "requestId">;

/** Context of a key change. */
export interface KeyChange {
  readonly vault: Vault;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly by: KeyChanger;
}

export const keyRecords = collection<KeyRecord>("keys");

/** Whether the store has keys, which only its own master key decrypts. */
export async function holdsKeys(records: Records): Promise<boolean> {
  return (await records.list(keyRecords, { limit: 1 })).length > 0;
}

/** @throws {Error} If the master key is wrong, or the record was changed. */
export function openedKey(
  { kid, createdAt, retiredAt, use, sealed }: KeyRecord,
  vault: Vault,
): Key {
  const jwk = { ...JSON.parse(vault.open(sealed, contextOf(use, kid))), kid };
  return { kid, createdAt, retiredAt, jwk };
}

/** The steps that create the first key of a use; the commit fails if there is one. */
export function firstKeySteps(use: KeyUse, change: KeyChange): readonly Operation[] {
  return insertKey(newRecord(use, 1, change), "key.created", change);
}

/**
 * The steps that add a successor to the newest key of a use; the commit fails if there already is one.
 */
export function successorKeySteps(newest: Stored<KeyRecord>, change: KeyChange) {
  const { use, generation } = newest.value;
  const record = newRecord(use, generation + 1, change);
  const value = { ...newest.value, retiredAt: change.now };
  const retire = replace(keyRecords, newest, { value });
  return { kid: record.kid, steps: [retire, ...insertKey(record, "key.rotated", change)] };
}

/** The steps that remove a key. */
export function keyRemovalSteps(ended: Stored<KeyRecord>, now: number): readonly Operation[] {
  const { kid, use } = ended.value;
  const entry = { action: "key.removed", actor: "system", target: kid, detail: { use } };
  return [removeAt(keyRecords, ended), ...audited(entry, now), announce(KEYS_TOPIC)];
}

/** Whether the retention of a key has ended: nothing made with it can still be in use. */
export function hasEnded({ use, retiredAt }: KeyRecord, now: number): boolean {
  return retiredAt !== null && retiredAt + keyUses[use].retentionMs <= now;
}

function newRecord(use: KeyUse, generation: number, { vault, now }: KeyChange): KeyRecord {
  const kid = randomBytes(KID_BYTES).toString("base64url");
  const sealed = vault.seal(JSON.stringify(keyUses[use].generate()), contextOf(use, kid));
  return { use, generation, kid, createdAt: now, retiredAt: null, sealed };
}

/**
 * The record key is derived from the generation, so that only one of several processes creates the next
 * key.
 */
function insertKey(value: KeyRecord, action: string, { now, by }: KeyChange): readonly Operation[] {
  const { use, generation, kid } = value;
  const entry = { ...by, action, target: kid, detail: { use } };
  const key = `${use}:${generation}`;
  return [insert(keyRecords, { key, value }), ...audited(entry, now), announce(KEYS_TOPIC)];
}

/** A sealed key opens only under its own use and kid. */
const contextOf = (use: KeyUse, kid: string): string => `${use}:${kid}`;
