import { readAll } from "./port/read-all.ts";
import {
  type Collection,
  collection,
  type RecordReader,
  type Records,
  type Stored,
} from "./port/records.ts";
import type { Transaction } from "./transact.ts";

/**
 * A record that the operator has set aside. Until it is put back it is, for everything else, as
 * absent as a deleted record; what depends on it stays in the store and has no effect.
 */
interface SetAsideRecord {
  /** Name of the record's collection, and its key there. */
  readonly collection: string;
  readonly key: string;
  readonly value: unknown;
  readonly groups: readonly string[];
  /** When it was set aside, in milliseconds since the epoch. */
  readonly at: number;
  /** Key of the record with which it was set aside, and with which alone it can be put back. */
  readonly with?: string;
}

/**
 * Records that are set aside, by `setAsideKey`. They keep the groups and the expiry of the record.
 */
export const setAsideRecords = collection<SetAsideRecord>("set-aside");

const setAsideKey = (of: Collection<unknown>, key: string): string => `${of.name}:${key}`;

/** Group of the records that were set aside together with another one. */
const setAsideWithGroup = (key: string): string => `set-aside-with:${key}`;

/** Finds a record that is set aside. */
export async function findSetAside(
  records: RecordReader,
  of: Collection<unknown>,
  key: string,
): Promise<Stored<SetAsideRecord> | undefined> {
  return records.get(setAsideRecords, setAsideKey(of, key));
}

/**
 * A record that exists, or one that is set aside and can come back. What asks whether a record is
 * gone for good, or changes what must not come back as it was, reads these.
 */
export interface Kept<T> extends Pick<Stored<T>, "key" | "value" | "groups" | "revision"> {
  /** How it is set aside; absent for a record that is not. */
  readonly aside?: Stored<SetAsideRecord>;
}

const keptOf = <T>(aside: Stored<SetAsideRecord>): Kept<T> => {
  const { key, value, groups } = aside.value;
  return { key, value: value as T, groups, revision: aside.revision, aside };
};

/** Finds a record, also one that is set aside. */
export async function findKept<T>(
  records: RecordReader,
  of: Collection<T>,
  key: string,
): Promise<Kept<T> | undefined> {
  const found = await records.get(of, key);
  if (found !== undefined) return found;
  const aside = await findSetAside(records, of, key);
  // Between the two readings, the record may have been put back.
  return aside === undefined ? records.get(of, key) : keptOf(aside);
}

/** Every record of a group, also those that are set aside. */
export async function readKept<T>(
  records: RecordReader,
  of: Collection<T>,
  group: string,
): Promise<readonly Kept<T>[]> {
  const before = await readAll(records, of, group);
  const aside = await readAll(records, setAsideRecords, group);
  // Between the two readings, a record may have been put back.
  const after = await readAll(records, of, group);
  const own = aside.filter(({ value }) => value.collection === of.name);
  const all: readonly Kept<T>[] = [...before, ...own.map((each) => keptOf<T>(each)), ...after];
  return [...new Map(all.map((kept) => [kept.key, kept])).values()];
}

/** Changes a record, also one that is set aside. */
export function updateKept<T>(tx: Transaction, of: Collection<T>, kept: Kept<T>, value: T): void {
  const { aside } = kept;
  if (aside === undefined) tx.update(of, kept, { value });
  else tx.update(setAsideRecords, aside, { value: { ...aside.value, value } });
}

/** Removes a record, also one that is set aside. */
export function removeKept(tx: Transaction, of: Collection<unknown>, key: string): void {
  tx.remove(of, key);
  tx.remove(setAsideRecords, setAsideKey(of, key));
}

/** Lets a record stay aside when the record with which it was set aside is put back. */
export function separate(tx: Transaction, stored: Stored<SetAsideRecord>): void {
  const { with: _, ...value } = stored.value;
  tx.update(setAsideRecords, stored, { value, groups: value.groups });
}

/** Every record of a collection that is set aside. */
export async function readSetAside<T>(
  records: Records,
  of: Collection<T>,
): Promise<readonly (SetAsideRecord & { readonly value: T; readonly expiresAt?: number })[]> {
  const all = await readAll(records, setAsideRecords);
  return all
    .filter(({ value }) => value.collection === of.name)
    .map(({ value, expiresAt }) => ({
      ...value,
      value: value.value as T,
      ...(expiresAt !== undefined && { expiresAt }),
    }));
}

/**
 * Sets a record aside.
 *
 * @param at Milliseconds since the epoch.
 * @param withKey Key of the record together with which it is set aside.
 */
export function setAside<T>(
  tx: Transaction,
  of: Collection<T>,
  stored: Stored<T>,
  { at, withKey }: { readonly at: number; readonly withKey?: string },
): void {
  const { key, value, groups, expiresAt } = stored;
  const also = withKey === undefined ? {} : { with: withKey };
  tx.remove(of, key);
  tx.put(setAsideRecords, {
    key: setAsideKey(of, key),
    value: { collection: of.name, key, value, groups, at, ...also },
    groups: [...groups, ...(withKey === undefined ? [] : [setAsideWithGroup(withKey)])],
    ...(expiresAt !== undefined && { ttlMs: Math.max(1, expiresAt - at) }),
  });
}

/**
 * Puts a record back, and every record that was set aside with it.
 *
 * @param now Milliseconds since the epoch.
 */
export async function putBack(
  tx: Transaction,
  stored: Stored<SetAsideRecord>,
  now: number,
): Promise<void> {
  const others = await readAll(tx, setAsideRecords, setAsideWithGroup(stored.value.key));
  for (const each of [stored, ...others]) {
    const { collection: name, key, value, groups } = each.value;
    const ttl = each.expiresAt === undefined ? {} : { ttlMs: Math.max(1, each.expiresAt - now) };
    tx.remove(setAsideRecords, each.key);
    tx.put({ name }, { key, value, groups, ...ttl });
  }
}
