import type { Operation, Placing, Replacing } from "../records.ts";
import {
  changedEntry,
  checkInstant,
  checkName,
  checkRevision,
  documentOf,
  type Entry,
  entryOf,
  isAlive,
} from "./entry.ts";
import type { Layer } from "./shelf.ts";

/** Does its part of a commit at an instant. @returns Whether it held. */
export type Step = (layer: Layer, now: number) => boolean;

type OfKind<K extends Operation["kind"]> = Extract<Operation, { kind: K }>;

/** Where a record is. */
interface Place {
  readonly collection: string;
  readonly key: string;
}

/**
 * Makes a step of an operation. Everything is taken from the operation now: the caller may change
 * its objects while the commit waits.
 *
 * @throws {RangeError} When a name cannot be kept, or a duration or revision is not a number.
 * @throws {TypeError} When a value is not JSON.
 */
export function stepOf(operation: Operation): Step {
  if ("key" in operation) {
    checkName(operation.collection);
    checkName(operation.key);
  }
  if ("revision" in operation && operation.revision !== undefined)
    checkRevision(operation.revision);
  switch (operation.kind) {
    case "put":
      return putStep(operation);
    case "insert":
      return insertStep(operation);
    case "replace":
      return replaceStep(operation);
    case "check":
      return checkStep(operation);
    case "consume":
      return consumeStep(operation);
    case "remove":
      return removeStep(operation);
    case "removeGroup":
      return removeGroupStep(operation);
    case "announce":
      return () => true;
  }
}

function putStep({ collection, key, value, placing }: OfKind<"put" | "insert">): Step {
  const document = documentOf(value);
  const { groups = [], ttlMs, dueInMs } = checkedPlacing(placing);
  return (layer, now) => {
    const [expiresAt, dueAt] = [instantAfter(now, ttlMs), instantAfter(now, dueInMs)];
    const parts = { collection, key, document, groups, expiresAt, dueAt, consumedAt: undefined };
    writeNext(layer, (revision) => entryOf({ ...parts, revision }));
    return true;
  };
}

function insertStep(operation: OfKind<"insert">): Step {
  const { collection, key } = operation;
  const put = putStep(operation);
  return (layer, now) => aliveAt(layer, { collection, key }, now) === undefined && put(layer, now);
}

function replaceStep({ collection, key, revision, ...given }: OfKind<"replace">): Step {
  const document = documentOf(given.value);
  const { groups, ttlMs, dueInMs } = checkedPlacing(given.placing);
  return (layer, now) => {
    const entry = aliveAt(layer, { collection, key }, now);
    if (entry === undefined || entry.stored.revision !== revision) return false;

    const { expiresAt, dueAt } = entry.stored;
    const parts = {
      document,
      groups: groups ?? entry.stored.groups,
      expiresAt: ttlMs === undefined ? expiresAt : instantAfter(now, ttlMs),
      dueAt: dueInMs === undefined ? dueAt : instantAfter(now, dueInMs),
    };
    writeNext(layer, (next) => changedEntry(entry, { ...parts, revision: next }));
    return true;
  };
}

function checkStep({ collection, key, revision }: OfKind<"check">): Step {
  return (layer, now) => aliveAt(layer, { collection, key }, now)?.stored.revision === revision;
}

function consumeStep({ collection, key }: OfKind<"consume">): Step {
  return (layer, now) => {
    const entry = aliveAt(layer, { collection, key }, now);
    if (entry === undefined || entry.stored.consumedAt !== undefined) return false;

    writeNext(layer, (revision) => changedEntry(entry, { revision, consumedAt: now }));
    return true;
  };
}

function removeStep({ collection, key, revision }: OfKind<"remove">): Step {
  return (layer, now) => {
    const entry = aliveAt(layer, { collection, key }, now);
    if (revision !== undefined && entry?.stored.revision !== revision) return false;
    if (entry !== undefined) layer.write({ collection, key, entry: undefined });
    return true;
  };
}

function removeGroupStep({ group }: OfKind<"removeGroup">): Step {
  checkName(group);
  return (layer, now) => {
    const members = [...layer.members(group)].filter((entry) => isAlive(entry, now));
    for (const { collection, stored } of members) {
      layer.write({ collection, key: stored.key, entry: undefined });
    }
    return true;
  };
}

/** Writes an entry that is made with the next revision. */
export function writeNext(layer: Layer, make: (revision: number) => Entry): Entry {
  const entry = make(layer.revision + 1);
  layer.write({ collection: entry.collection, key: entry.stored.key, entry });
  layer.revision += 1;
  return entry;
}

function aliveAt(layer: Layer, { collection, key }: Place, now: number): Entry | undefined {
  const entry = layer.get(collection, key);
  return entry !== undefined && isAlive(entry, now) ? entry : undefined;
}

function checkedPlacing<P extends Placing | Replacing>(placing: P): P {
  placing.groups?.forEach(checkName);
  for (const ms of [placing.ttlMs, placing.dueInMs]) checkInstant(ms ?? 0);
  return placing.groups === undefined
    ? { ...placing }
    : { ...placing, groups: [...placing.groups] };
}

function instantAfter(now: number, ms: number | null | undefined): number | undefined {
  return ms === undefined || ms === null ? undefined : checkInstant(now + ms);
}
