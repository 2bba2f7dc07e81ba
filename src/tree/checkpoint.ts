import { HASH_BYTES, type Hash } from "./merkle.ts";
import { decodeBase64, isKeyName, type ParsedNote, parseNote } from "./signed-note.ts";

/** Statement of a log about its Merkle tree (C2SP tlog-checkpoint). */
export interface Checkpoint {
  /** Unique name of the log, which its keys have as well; a valid key name. */
  readonly origin: string;
  /** Number of leaves. */
  readonly size: number;
  readonly root: Hash;
}

/** A checkpoint with its unverified signatures. */
export interface SignedCheckpoint extends Checkpoint {
  readonly note: ParsedNote;
}

/** Maximum number of characters of an origin in a message, so that it begins no line of its own. */
const SHOWN_CHARACTERS = 60;

/**
 * An origin in quotes as messages show it, cut to 60 characters: a stranger may have chosen it.
 * Characters beyond ASCII, which may be wide or look like others, are shown as `\u{…}`.
 */
export function shownOrigin(origin: string): string {
  const text = origin.replace(
    /[^ -~]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
  return text.length > SHOWN_CHARACTERS ? `"${text.slice(0, SHOWN_CHARACTERS)}…"` : `"${text}"`;
}

/** Text of a checkpoint, which the log signs. */
export const checkpointText = ({ origin, size, root }: Checkpoint): string =>
  `${origin}\n${size}\n${Buffer.from(root).toString("base64")}\n`;

/**
 * Parses a signed note without verifying its signatures.
 *
 * @throws {Error} If the note is not a checkpoint.
 */
export function parseCheckpoint(text: string): SignedCheckpoint {
  const note = parseNote(text);
  return { ...parseCheckpointText(note.text), note };
}

/**
 * Parses the text of a checkpoint.
 *
 * @throws {Error} If the text is malformed.
 */
export function parseCheckpointText(text: string): Checkpoint {
  const [origin = "", sizeText = "", rootText = "", ...extensions] = text.slice(0, -1).split("\n");
  const size = parseDecimal(sizeText);
  const root = decodeBase64(rootText);
  if (!isKeyName(origin) || extensions.includes("")) throw new Error("this is not a checkpoint");
  if (size === undefined) throw new Error("the checkpoint has no size");
  if (root?.length !== HASH_BYTES) throw new Error("the checkpoint has no root hash");
  return { origin, size, root };
}

/**
 * Parses a decimal integer without leading zeros, as in sizes and indexes; `undefined` for any
 * other text.
 */
export function parseDecimal(text: string): number | undefined {
  const number = Number(text);
  const isNumber = /^(0|[1-9]\d*)$/.test(text) && Number.isSafeInteger(number);
  return isNumber ? number : undefined;
}
