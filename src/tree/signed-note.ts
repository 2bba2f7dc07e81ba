/** Length of a key id in bytes. */
export const KEY_ID_BYTES = 4;

/** Maximum number of signatures that are read; C2SP signed-note asks for at least 16. */
const MAX_SIGNATURES = 64;

/**
 * Control characters other than newline, which a note must not contain. C2SP signed-note forbids
 * those of ASCII; DEL and the C1 controls (U+007F to U+009F) are refused as well, because terminals
 * obey them.
 */
const CONTROL = /[^\n\u{20}-\u{7e}\u{a0}-\u{10ffff}]/u;

/**
 * Maximum length of the name of a log, witness or key in bytes, which a timestamped ML-DSA-44
 * signature can cover (C2SP tlog-cosignature).
 */
const MAX_NAME_BYTES = 255;

/** A signature line of a note. */
interface NoteSignature {
  readonly name: string;
  readonly keyId: string;
  readonly signature: Uint8Array;
}

/** A parsed note whose signatures are not verified. */
export interface ParsedNote {
  /** Signed text, including its last newline. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

/**
 * Whether a text is a valid name of a log or key: 1 to 255 bytes without spaces, plus, control
 * characters, characters that change the direction of text, and characters that look like spaces or
 * like nothing (Unicode Default_Ignorable_Code_Point, and the empty Braille pattern).
 */
export const isKeyName = (name: string): boolean =>
  name.length > 0 &&
  Buffer.byteLength(name) <= MAX_NAME_BYTES &&
  name.isWellFormed() &&
  !/[\s+\p{Cc}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\u{2800}]/u.test(name);

/**
 * Maximum length of a short signature, in bytes: the length of an Ed25519 signature with a
 * timestamp. An ML-DSA-44 signature has 2,420.
 */
const SHORT_BYTES = 72;

/** Removes the long signatures from a note that a language model reads, since every token costs. */
export function withoutLongSignatures(note: string): string {
  const { text, signatures } = parseNote(note);
  const short = signatures.filter(({ signature }) => signature.length <= SHORT_BYTES);
  return `${text}\n${short.map((one) => signatureLine(one, one.signature)).join("")}`;
}

/** The signature line of a note, including its newline. */
export function signatureLine(
  { name, keyId }: { readonly name: string; readonly keyId: string },
  signature: Uint8Array,
): string {
  const bytes = Buffer.concat([Buffer.from(keyId, "hex"), signature]);
  return `— ${name} ${bytes.toString("base64")}\n`;
}

/**
 * Parses a signed note without verifying it.
 *
 * @throws {Error} If the text is not a note.
 */
export function parseNote(note: string): ParsedNote {
  const end = note.lastIndexOf("\n\n");
  const isText = note.isWellFormed() && !CONTROL.test(note);
  if (!isText || end < 0 || !note.endsWith("\n")) throw new Error("this is not a signed note");
  const lines = note.slice(end + 2, -1).split("\n");
  if (lines.length > MAX_SIGNATURES) throw new Error("the note has too many signatures");
  return { text: note.slice(0, end + 1), signatures: lines.map(parseSignature) };
}

function parseSignature(line: string): NoteSignature {
  const [dash, name = "", base64 = "", ...rest] = line.split(" ");
  const bytes = decodeBase64(base64);
  const isLine = dash === "—" && isKeyName(name) && rest.length === 0;
  if (!isLine || bytes === undefined || bytes.length <= KEY_ID_BYTES) {
    throw new Error("the note has a malformed signature line");
  }
  const keyId = bytes.subarray(0, KEY_ID_BYTES).toString("hex");
  return { name, keyId, signature: bytes.subarray(KEY_ID_BYTES) };
}

/** Decodes standard base64 (RFC 4648 section 4) with padding; `undefined` for any other text. */
export function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : undefined;
}
