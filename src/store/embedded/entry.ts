import type { Stored } from "../records.ts";

/** A record as it is held in memory. Never changes, but for where it is on disk. */
export interface Entry {
  readonly collection: string;
  /** What readers are given, frozen to the bottom. */
  readonly stored: Stored<unknown>;
  /** The value as it was written. */
  readonly text: string;
  /** Row of the table on disk; none before the entry was written. */
  row: number | undefined;
}

/** Everything an entry is made of. */
export interface EntryParts extends Omit<Stored<unknown>, "value"> {
  readonly collection: string;
  readonly document: Document;
}

/** A JSON value beside its text. */
export interface Document {
  readonly text: string;
  readonly value: unknown;
}

/** Longest name, in UTF-16 code units. */
const LONGEST_NAME = 512;

/** Longest name, in bytes of UTF-8: two of them fit into an entry of an index of PostgreSQL. */
const LONGEST_NAME_BYTES = 1_000;

/** Last instant that a `Date` can tell (ECMA-262, 21.4.1.1), in milliseconds since the epoch. */
const LAST_INSTANT = 8.64e15;

/** @throws {RangeError} When the name cannot be kept as it is by every engine. */
export function checkName(name: string): void {
  if (name.includes("\0")) throw new RangeError("A name has a NUL in it.");
  if (!name.isWellFormed()) throw new RangeError("A name has half a surrogate pair in it.");
  if (name.length > LONGEST_NAME) {
    throw new RangeError(`A name has more than ${LONGEST_NAME} characters.`);
  }
  if (Buffer.byteLength(name) > LONGEST_NAME_BYTES) {
    throw new RangeError(`A name has more than ${LONGEST_NAME_BYTES} bytes.`);
  }
}

/** @throws {RangeError} When the number cannot be a revision. */
export function checkRevision(revision: number): void {
  if (!Number.isSafeInteger(revision)) throw new RangeError("A revision is not a whole number.");
}

/** An instant or duration in whole milliseconds that a `Date` can tell. @throws {RangeError} For no
 *  number. */
export function checkInstant(at: number): number {
  if (Number.isNaN(at)) throw new RangeError("An instant or duration is not a number.");
  return Math.max(-LAST_INSTANT, Math.min(Math.round(at), LAST_INSTANT));
}

/** @throws {TypeError} When the value is not JSON, for example `undefined`. */
export function documentOf(value: unknown): Document {
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) throw new TypeError("A value of the store is not JSON.");
  return documentFrom(text);
}

/** @throws {SyntaxError} When the text is not JSON. */
export function documentFrom(text: string): Document {
  return { text, value: frozen(JSON.parse(text)) };
}

/** Puts an entry together. */
export function entryOf({ collection, document, ...parts }: EntryParts): Entry {
  const { key, revision, groups, expiresAt, dueAt, consumedAt } = parts;
  const { value, text } = document;
  const stored = { key, value, revision, groups: Object.freeze([...groups]) };
  return {
    collection,
    stored: Object.freeze({ ...stored, expiresAt, dueAt, consumedAt }),
    text,
    row: undefined,
  };
}

/** The same record with some parts changed. */
export function changedEntry(entry: Entry, changes: Partial<EntryParts>): Entry {
  const { collection, stored, text } = entry;
  return entryOf({ collection, document: { text, value: stored.value }, ...stored, ...changes });
}

/** Whether a record is there at an instant. */
export function isAlive({ stored }: Entry, now: number): boolean {
  return stored.expiresAt === undefined || stored.expiresAt > now;
}

function frozen(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  for (const part of Object.values(value)) frozen(part);
  return Object.freeze(value);
}
