/**
 * Maximum length of a name, in UTF-16 code units. Names are collections, keys and groups of
 * records, and kinds, ids and subjects of archive rows.
 */
const LONGEST_NAME = 512;

/**
 * Maximum length of a name, in bytes of UTF-8. Two names of this length fit into an index entry of
 * PostgreSQL.
 */
const LONGEST_NAME_BYTES = 1_000;

/**
 * Last instant that a `Date` can represent (ECMA-262, 21.4.1.1), in milliseconds since the epoch.
 */
const LAST_INSTANT = 8.64e15;

/** What is wrong with a name; `undefined` if every storage engine can store it. */
function faultOfName(name: string): string | undefined {
  if (name.includes("\0")) return "A name has a NUL in it.";
  if (!name.isWellFormed()) return "A name has half a surrogate pair in it.";
  if (name.length > LONGEST_NAME) return `A name has more than ${LONGEST_NAME} characters.`;
  if (Buffer.byteLength(name) > LONGEST_NAME_BYTES) {
    return `A name has more than ${LONGEST_NAME_BYTES} bytes.`;
  }
  return undefined;
}

/** Whether every storage engine can store a text as a name. */
export function isStorableName(name: string): boolean {
  return faultOfName(name) === undefined;
}

/** Checks a name. @throws {RangeError} If one of the storage engines cannot store it. */
export function checkStorableName(name: string): void {
  const fault = faultOfName(name);
  if (fault !== undefined) throw new RangeError(fault);
}

/**
 * Checks several names.
 *
 * @throws {RangeError} If one of the storage engines cannot store one of them.
 */
export function checkRecordNames(names: readonly string[]): void {
  for (const name of names) checkStorableName(name);
}

/** Checks a revision. @throws {RangeError} If the number is not a safe integer. */
export function checkRevision(revision: number): void {
  if (!Number.isSafeInteger(revision)) throw new RangeError("A revision is not a whole number.");
}

/**
 * Rounds an instant or duration to whole milliseconds, and clamps it to the range of `Date`.
 *
 * @throws {RangeError} For NaN.
 */
export function toStorableInstant(at: number): number {
  if (Number.isNaN(at)) throw new RangeError("An instant or duration is not a number.");
  return Math.max(-LAST_INSTANT, Math.min(Math.round(at), LAST_INSTANT));
}

/**
 * Serializes a value as JSON.
 *
 * @throws {TypeError} If the value cannot be represented as JSON, for example `undefined`.
 */
export function jsonText(value: unknown): string {
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) throw new TypeError("A value of the store is not JSON.");
  return text;
}

/** Checks a JSON text. @throws {Error} If the text is not JSON, or cannot be stored verbatim. */
export function checkJson(text: string): void {
  if (!text.isWellFormed()) throw new RangeError("A text has half a surrogate pair in it.");
  JSON.parse(text);
}
