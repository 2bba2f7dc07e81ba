/** Maximum number of characters of an invalid value in a message. */
const SHOWN_CHARACTERS = 40;

/** A line of a file, counted from 1, where the header of a table is line 1. */
export interface FileLocation {
  readonly file: string;
  /** Absent if the file as a whole is wrong. */
  readonly line?: number;
}

/**
 * Error about invalid data with the message `file:line: wrong: expected`.
 *
 * @param wrong Description of the error.
 * @param expected Description of valid data.
 */
export function dataError({ file, line }: FileLocation, wrong: string, expected: string): Error {
  const place = line === undefined ? file : `${file}:${line}`;
  return new Error(`${place}: ${wrong}: ${expected}`);
}

/** An invalid value in quotes, truncated to 40 characters, with control characters escaped. */
export function quoted(value: string): string {
  const shown = value.length > SHOWN_CHARACTERS ? `${value.slice(0, SHOWN_CHARACTERS)}…` : value;
  return JSON.stringify(shown);
}

/**
 * Creates a check that throws at the second occurrence of a key.
 *
 * @param what Kind of thing that the key identifies, for the message.
 */
export function createUniquenessCheck(what: string): (key: string, place: FileLocation) => void {
  const seen = new Set<string>();
  return (key, place) => {
    if (seen.has(key)) throw dataError(place, `${what} ${quoted(key)} is repeated`, "name it once");
    seen.add(key);
  };
}
