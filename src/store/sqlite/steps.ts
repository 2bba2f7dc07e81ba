import type { Operation, ReplaceOptions, WriteOptions } from "../port/records.ts";
import { checkRevision, checkStorableName, jsonText, toStorableInstant } from "../port/values.ts";
import { type ArchiveTable, archiveDumpRowOf } from "./archive.ts";
import type { RecordContent, RecordRow } from "./record-row.ts";
import type { RecordTable } from "./record-table.ts";

/** The tables that a commit can change. */
export interface StoreTables {
  readonly records: RecordTable;
  readonly archive: ArchiveTable;
}

/**
 * Performs one operation of a commit at the instant `now`, in milliseconds since the epoch.
 *
 * @returns Whether the operation succeeded.
 */
type CommitStep = (tables: StoreTables, now: number) => boolean;

type OfKind<K extends Operation["kind"]> = Extract<Operation, { kind: K }>;

/**
 * Creates the step that performs an operation. All data of the operation is copied, because the
 * caller may change its objects while the commit is queued.
 *
 * @throws {RangeError} If a name cannot be stored, or a duration or revision is not a number.
 * @throws {TypeError} If a value is not JSON.
 */
export function commitStepOf(operation: Operation): CommitStep {
  switch (operation.kind) {
    case "put":
      return putStep(operation);
    case "insert":
      return insertStep(operation);
    case "replace":
      return replaceStep(operation);
    case "check":
      return atRevision(operation, () => {});
    case "checkAbsent":
      return checkAbsentStep(operation);
    case "checkList":
      return checkListStep(operation);
    case "consume":
      return consumeStep(operation);
    case "remove":
      return removeStep(operation);
    case "removeGroup":
      return removeGroupStep(operation);
    case "append":
      return appendStep(operation);
    case "announce":
      return () => true;
  }
}

function putStep(operation: OfKind<"put">): CommitStep {
  const { collection, key } = operation;
  const contentAt = contentOf(operation);
  return ({ records }, now) => {
    records.put(collection, key, contentAt(now));
    return true;
  };
}

function insertStep(operation: OfKind<"insert">): CommitStep {
  const { collection, key } = operation;
  const contentAt = contentOf(operation);
  return ({ records }, now) => records.create(collection, key, contentAt(now), now);
}

/** Creates the function that returns the content of a record, written at the given instant. */
function contentOf({
  collection,
  key,
  value,
  placing,
}: OfKind<"put" | "insert">): (now: number) => RecordContent {
  checkPlace(collection, key);
  const text = jsonText(value);
  const { groups = [], ttlMs, dueInMs } = placing;
  checkPlacing(placing);
  const content = { text, groups: JSON.stringify(groups), consumedAt: null };
  return (now) => ({
    ...content,
    expiresAt: instantAfter(now, ttlMs),
    dueAt: instantAfter(now, dueInMs),
  });
}

function replaceStep(operation: OfKind<"replace">): CommitStep {
  const text = jsonText(operation.value);
  const { groups, ttlMs, dueInMs } = operation.placing;
  checkPlacing(operation.placing);
  const content = groups === undefined ? { text } : { text, groups: JSON.stringify(groups) };
  return atRevision(operation, ({ records }, row, now) => {
    records.change(row, {
      ...content,
      expiresAt: ttlMs === undefined ? row.expiresAt : instantAfter(now, ttlMs),
      dueAt: dueInMs === undefined ? row.dueAt : instantAfter(now, dueInMs),
    });
  });
}

function checkAbsentStep({ collection, key }: OfKind<"checkAbsent">): CommitStep {
  checkPlace(collection, key);
  return ({ records }, now) => records.find(collection, key, now) === undefined;
}

function checkListStep(listed: OfKind<"checkList">): CommitStep {
  checkStorableName(listed.collection);
  if (listed.group !== undefined) checkStorableName(listed.group);
  for (const revision of [listed.after, listed.newest]) checkRevision(revision);
  return ({ records }, now) => records.isUnchanged(listed, now);
}

function consumeStep({ collection, key }: OfKind<"consume">): CommitStep {
  checkPlace(collection, key);
  return ({ records }, now) => {
    const row = records.find(collection, key, now);
    if (row === undefined || row.consumedAt !== null) return false;

    records.change(row, { consumedAt: now });
    return true;
  };
}

function removeStep({ collection, key, revision }: OfKind<"remove">): CommitStep {
  if (revision !== undefined) {
    return atRevision({ collection, key, revision }, ({ records }, row) => records.remove(row));
  }
  checkPlace(collection, key);
  return ({ records }, now) => {
    const row = records.find(collection, key, now);
    if (row !== undefined) records.remove(row);
    return true;
  };
}

function removeGroupStep({ group }: OfKind<"removeGroup">): CommitStep {
  checkStorableName(group);
  return ({ records }, now) => {
    records.removeGroup(group, now);
    return true;
  };
}

function appendStep({ row }: OfKind<"append">): CommitStep {
  const added = archiveDumpRowOf(row);
  return ({ archive }) => {
    archive.insert(added);
    return true;
  };
}

/** Creates a step that succeeds only if the record still has the given revision. */
function atRevision(
  { collection, key, revision }: Pick<OfKind<"check">, "collection" | "key" | "revision">,
  change: (tables: StoreTables, row: RecordRow, now: number) => void,
): CommitStep {
  checkPlace(collection, key);
  checkRevision(revision);
  return (tables, now) => {
    const row = tables.records.find(collection, key, now);
    if (row === undefined || row.revision !== revision) return false;

    change(tables, row, now);
    return true;
  };
}

function checkPlace(collection: string, key: string): void {
  checkStorableName(collection);
  checkStorableName(key);
}

function checkPlacing(placing: WriteOptions | ReplaceOptions): void {
  placing.groups?.forEach(checkStorableName);
  for (const ms of [placing.ttlMs, placing.dueInMs]) toStorableInstant(ms ?? 0);
}

function instantAfter(now: number, ms: number | null | undefined): number | null {
  return ms === undefined || ms === null ? null : toStorableInstant(now + ms);
}
