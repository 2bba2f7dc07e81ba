/** Maximum number of characters of an invalid value in a message. */
const SHOWN_CHARACTERS = 40;

/** A line of a file, counted from 1, where the header of a table is line 1. */
export interface FileLocation {
  readonly file: string;
  /** Absent if the file as a whole is wrong. */
  readonly line?: number;
}

/** Error about invalid data with the message `file:line: wrong: expected`. */
export class DataError extends Error {
  readonly place: FileLocation;
  /** What is wrong. */
  readonly wrong: string;
  /** Description of valid data. */
  readonly expected: string;

  constructor(place: FileLocation, wrong: string, expected: string) {
    const { file, line } = place;
    super(`${line === undefined ? file : `${file}:${line}`}: ${wrong}: ${expected}`);
    this.place = place;
    this.wrong = wrong;
    this.expected = expected;
  }
}

/** Creates a `DataError`. */
export const dataError = (place: FileLocation, wrong: string, expected: string): DataError =>
  new DataError(place, wrong, expected);

/** Called with what is invalid, which is then left out. */
export type OnRefused = (error: DataError) => void;

/**
 * Returns what `read` returns; `undefined` if it finds invalid data and `onRefused` is told.
 *
 * @throws {DataError} If `onRefused` is absent.
 */
export function unlessRefused<T>(read: () => T, onRefused: OnRefused | undefined): T | undefined {
  try {
    return read();
  } catch (error) {
    if (onRefused === undefined || !(error instanceof DataError)) throw error;
    onRefused(error);
    return undefined;
  }
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
