import type { ArchiveRow } from "./archive.ts";
import type {
  Collection,
  CollectionRules,
  Operation,
  ReplaceOptions,
  Stored,
  WriteOptions,
} from "./records.ts";

/** A record to write. */
export type NewRecord<T> = { readonly key: string; readonly value: T } & WriteOptions;

/** Creates or overwrites a record. */
export function put<T>(to: Collection<T>, { key, value, ...given }: NewRecord<T>): Operation {
  const placing = placingOf(to, { key, value, ...given });
  return { kind: "put", collection: to.name, key, value, placing };
}

/** Creates a record. The commit fails if the record exists. */
export function insert<T>(to: Collection<T>, { key, value, ...given }: NewRecord<T>): Operation {
  const placing = placingOf(to, { key, value, ...given });
  return { kind: "insert", collection: to.name, key, value, placing };
}

/** What a write says about the place of a record, completed by what its collection declares. */
function placingOf<T>(
  rules: CollectionRules<T>,
  { key, value, groups = [], ttlMs = rules.ttlMs, dueInMs = rules.dueInMs }: NewRecord<T>,
): WriteOptions {
  return {
    groups: [...new Set([...(rules.groups?.(value, key) ?? []), ...groups])],
    ...(ttlMs !== undefined && { ttlMs }),
    ...(dueInMs !== undefined && { dueInMs }),
  };
}

/** Changes a record that was read before. The commit fails if the record has changed since then. */
export function replace<T>(
  to: Collection<T>,
  { key, revision }: Pick<Stored<T>, "key" | "revision">,
  { value, ...placing }: { readonly value: T } & ReplaceOptions,
): Operation {
  return { kind: "replace", collection: to.name, key, revision, value, placing };
}

/** Changes nothing, but makes the commit fail if the record has changed since it was read. */
export function requireUnchanged<T>(
  from: Collection<T>,
  { key, revision }: Pick<Stored<T>, "key" | "revision">,
): Operation {
  return { kind: "check", collection: from.name, key, revision };
}

/** Consumes a single-use record. The commit fails if the record is absent or already consumed. */
export function consume<T>(of: Collection<T>, key: string): Operation {
  return { kind: "consume", collection: of.name, key };
}

/** Removes a record, if it exists. */
export function remove<T>(from: Collection<T>, key: string): Operation {
  return { kind: "remove", collection: from.name, key };
}

/** Removes a record that was read before. The commit fails if the record has changed since then. */
export function removeUnchanged<T>(
  from: Collection<T>,
  { key, revision }: Pick<Stored<T>, "key" | "revision">,
): Operation {
  return { kind: "remove", collection: from.name, key, revision };
}

/** Removes every record of a group, in all collections. */
export function removeGroup(group: string): Operation {
  return { kind: "removeGroup", group };
}

/** Adds a row to the archive, unless the row already exists. */
export function appendToArchive(row: ArchiveRow): Operation {
  return { kind: "append", row };
}

/** Notifies the listeners of a topic in every process. */
export function announce(topic: string, text = ""): Operation {
  return { kind: "announce", topic, text };
}
