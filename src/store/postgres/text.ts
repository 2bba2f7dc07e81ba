/** Longest key, group or name, in characters. */
const MAX_LENGTH = 512;

/** And in bytes of UTF-8: two such names fit in an entry of an index (2,704 bytes). */
const MAX_BYTES = 1_000;

/** Whether the store can hold something by this name; PostgreSQL's text has no NUL. */
export function isName(text: string): boolean {
  if (text.length > MAX_LENGTH || Buffer.byteLength(text) > MAX_BYTES) return false;
  return !text.includes("\0") && text.isWellFormed();
}

/** @throws {RangeError} When the store cannot hold something by this name. */
export function checkNames(texts: readonly string[]): void {
  if (texts.every(isName)) return;
  throw new RangeError(
    `Names are text of at most ${MAX_LENGTH} characters and ${MAX_BYTES} bytes without NUL.`,
  );
}

/** @throws {TypeError} When the value is not JSON. */
export function jsonText(value: unknown): string {
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) throw new TypeError("The value is not JSON.");
  return text;
}
