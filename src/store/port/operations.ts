import type { ArchiveRow } from "./archive.ts";
import type {
  Collection,
  Operation,
  Records,
  ReplaceOptions,
  Stored,
  WriteOptions,
} from "./records.ts";

/** Writes a record unconditionally. */
export function put<T>(
  to: Collection<T>,
  { key, value, ...placing }: { readonly key: string; readonly value: T } & WriteOptions,
): Operation {
  return { kind: "put", collection: to.name, key, value, placing };
}

/** Writes a record; fails if it exists. */
export function insert<T>(
  to: Collection<T>,
  { key, value, ...placing }: { readonly key: string; readonly value: T } & WriteOptions,
): Operation {
  return { kind: "insert", collection: to.name, key, value, placing };
}

/** Changes a record read before; fails if it was changed since. */
export function replace<T>(
  to: Collection<T>,
  { key, revision }: Pick<Stored<T>, "key" | "revision">,
  { value, ...placing }: { readonly value: T } & ReplaceOptions,
): Operation {
  return { kind: "replace", collection: to.name, key, revision, value, placing };
}

/** Makes the commit fail if a record read before was changed since. */
export function unchanged<T>(
  from: Collection<T>,
  { key, revision }: Pick<Stored<T>, "key" | "revision">,
): Operation {
  return { kind: "check", collection: from.name, key, revision };
}

/** Consumes a single-use record. */
export function consume<T>(of: Collection<T>, key: string): Operation {
  return { kind: "consume", collection: of.name, key };
}

/** Removes a record, if it exists. */
export function remove<T>(from: Collection<T>, key: string): Operation {
  return { kind: "remove", collection: from.name, key };
}

/** Removes a record read before; fails if it was changed since. */
export function removeAt<T>(
  from: Collection<T>,
  { key, revision }: Pick<Stored<T>, "key" | "revision">,
): Operation {
  return { kind: "remove", collection: from.name, key, revision };
}

/** Removes every record of the group, in all collections. */
export function removeGroup(group: string): Operation {
  return { kind: "removeGroup", group };
}

/** Adds a row to the archive, unless it exists. */
export function append(row: ArchiveRow): Operation {
  return { kind: "append", row };
}

/** Notifies the listeners of a topic in every process. */
export function announce(topic: string, text = ""): Operation {
  return { kind: "announce", topic, text };
}

/** The operations of a change; `undefined`: none. */
type Changed = readonly Operation[] | undefined;

/**
 * Reads, changes and writes one record, retrying on concurrent writes.
 *
 * @param change The operations for the current record; `undefined` leaves it unchanged.
 * @returns Whether anything was written.
 */
export async function update<T>(
  records: Records,
  at: { readonly collection: Collection<T>; readonly key: string },
  change: (stored: Stored<T> | undefined) => Changed | Promise<Changed>,
): Promise<boolean> {
  for (;;) {
    const operations = await change(await records.get(at.collection, at.key));
    if (operations === undefined) return false;
    if (await records.commit(operations)) return true;
  }
}
