/** Characters of an invalid value that a message shows. */
const SHOWN_CHARACTERS = 40;

/** A line of a file, counted from 1; the header of a table is line 1. */
export interface FileLocation {
  readonly file: string;
  /** Absent when the file as a whole is wrong. */
  readonly line?: number;
}

/**
 * Error of invalid data: `file:line: what is wrong: what is expected`.
 *
 * @param wrong What is wrong.
 * @param expected What is expected.
 */
export function dataError({ file, line }: FileLocation, wrong: string, expected: string): Error {
  const place = line === undefined ? file : `${file}:${line}`;
  return new Error(`${place}: ${wrong}: ${expected}`);
}

/** An invalid value in quotes, cut when it is long and with control characters escaped. */
export function quoted(value: string): string {
  const shown = value.length > SHOWN_CHARACTERS ? `${value.slice(0, SHOWN_CHARACTERS)}…` : value;
  return JSON.stringify(shown);
}

/**
 * Makes a check that refuses the second occurrence of a key.
 *
 * @param what What the key identifies, for the message.
 */
export function uniqueness(what: string): (key: string, place: FileLocation) => void {
  const seen = new Set<string>();
  return (key, place) => {
    if (seen.has(key)) throw dataError(place, `${what} ${quoted(key)} is repeated`, "name it once");
    seen.add(key);
  };
}
