/** Characters of a refused value that a message shows. */
const SHOWN_CHARACTERS = 40;

/** Where in a folder, what is wrong there and how it should look. */
export interface Malformation {
  /** Path as the reader of the message can open it. */
  readonly file: string;
  /** Line from 1 with the header as line 1; absent when the file as a whole is wrong. */
  readonly line?: number;
  readonly wrong: string;
  readonly expected: string;
}

/** The error for data that must not be read: `file:line: what is wrong: how it should look`. */
export function malformed({ file, line, wrong, expected }: Malformation): Error {
  const place = line === undefined ? file : `${file}:${line}`;
  return new Error(`${place}: ${wrong}: ${expected}`);
}

/** A refused value in quotes, cut when it is long and with control characters escaped. */
export function quoted(value: string): string {
  const shown = value.length > SHOWN_CHARACTERS ? `${value.slice(0, SHOWN_CHARACTERS)}…` : value;
  return JSON.stringify(shown);
}
