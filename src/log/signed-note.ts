import { createPublicKey, hash, type KeyObject, sign, verify } from "node:crypto";

/** Type of the Ed25519 signatures of logs (C2SP signed-note). */
const SIGNATURE = 0x01;

/** Type of the Ed25519 signatures of witnesses (C2SP tlog-cosignature). */
export const COSIGNATURE = 0x04;

type SignatureType = typeof SIGNATURE | typeof COSIGNATURE;

/** Length of an Ed25519 public key in bytes (RFC 8032 section 5.1.5). */
const PUBLIC_KEY_BYTES = 32;

/** Length of a key id in bytes. */
const KEY_ID_BYTES = 4;

/** Most signatures that are read; C2SP signed-note asks for at least 16. */
const MAX_SIGNATURES = 64;

/** Control characters other than newline, which a note must not contain. */
const CONTROL = /[^\n\u{20}-\u{10ffff}]/u;

/** A public key that verifies notes. */
export interface NoteVerifier {
  readonly name: string;
  /** The first four bytes of SHA-256(name || LF || type || public key), in hexadecimal. */
  readonly keyId: string;
  readonly publicKey: KeyObject;
}

/** A private key that signs notes. */
export interface NoteSigner {
  readonly name: string;
  readonly keyId: string;
  readonly type: SignatureType;
  readonly privateKey: KeyObject;
}

/** A signature line of a note. */
interface NoteSignature {
  readonly name: string;
  readonly keyId: string;
  readonly signature: Uint8Array;
}

/** A note in its parts, not verified. */
export interface Note {
  /** With its last newline. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

/** Whether a text can name a key: no spaces, no plus, no control characters. */
export const isKeyName = (name: string): boolean =>
  name.length > 0 && name.isWellFormed() && !/[\s+\p{Cc}]/u.test(name);

/** The 32 bytes of an Ed25519 public key. */
const rawKey = (key: KeyObject): Uint8Array =>
  Buffer.from(key.export({ format: "jwk" }).x ?? "", "base64url");

/** The signer of a key name with an Ed25519 private key. */
export function noteSigner(
  name: string,
  privateKey: KeyObject,
  type: SignatureType = SIGNATURE,
): NoteSigner {
  const keyId = keyIdOf(name, type, rawKey(createPublicKey(privateKey)));
  return { name, keyId, type, privateKey };
}

function keyIdOf(name: string, type: SignatureType, publicKey: Uint8Array): string {
  const bytes = Buffer.concat([Buffer.from(`${name}\n`), Uint8Array.of(type), publicKey]);
  return hash("sha256", bytes, "hex").slice(0, 2 * KEY_ID_BYTES);
}

/** The key as people hand it on: `<name>+<key id>+<base64 of type and public key>`. */
export function verifierText({ name, keyId, type, privateKey }: NoteSigner): string {
  const bytes = Buffer.concat([Uint8Array.of(type), rawKey(createPublicKey(privateKey))]);
  return `${name}+${keyId}+${bytes.toString("base64")}`;
}

/** What verifies the notes of a signer. */
export const verifierOf = ({ name, keyId, privateKey }: NoteSigner): NoteVerifier => ({
  name,
  keyId,
  publicKey: createPublicKey(privateKey),
});

/** A key of a log. @throws {Error} If the text is not one. */
export const parseVerifier = (text: string): NoteVerifier => parseKey(text, SIGNATURE);

/** A key of a witness. @throws {Error} If the text is not one. */
export const parseCosigner = (text: string): NoteVerifier => parseKey(text, COSIGNATURE);

function parseKey(text: string, type: SignatureType): NoteVerifier {
  const [name = "", keyId = "", ...rest] = text.split("+");
  // Base64 may contain a plus itself.
  const bytes = decodeBase64(rest.join("+"));
  if (!isKeyName(name) || bytes?.length !== 1 + PUBLIC_KEY_BYTES || bytes[0] !== type) {
    const whose = type === SIGNATURE ? "log" : "witness";
    throw new Error(
      `"${text}" is not a key of a ${whose}: <name>+<key id>+<Ed25519 key in base64>`,
    );
  }
  const publicKey = bytes.subarray(1);
  if (keyId !== keyIdOf(name, type, publicKey))
    throw new Error(`the id of the key "${text}" is wrong`);
  const jwk = { kty: "OKP", crv: "Ed25519", x: Buffer.from(publicKey).toString("base64url") };
  return { name, keyId, publicKey: createPublicKey({ key: jwk, format: "jwk" }) };
}

/** Signs a text, which must end with a newline. */
export function signNote(text: string, signers: readonly NoteSigner[]): string {
  const lines = signers.map((signer) =>
    signatureLine(signer, sign(null, Buffer.from(text), signer.privateKey)),
  );
  return `${text}\n${lines.join("")}`;
}

/** The line of a signature, with its newline. */
export function signatureLine(
  { name, keyId }: { readonly name: string; readonly keyId: string },
  signature: Uint8Array,
): string {
  const bytes = Buffer.concat([Buffer.from(keyId, "hex"), signature]);
  return `— ${name} ${bytes.toString("base64")}\n`;
}

/** @throws {Error} If the text is not a note. */
export function parseNote(note: string): Note {
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

/**
 * The keys that have signed a note. Signatures of other keys are passed over, as C2SP signed-note
 * requires.
 *
 * @throws {Error} If a known key has not signed what its line says, or no known key has signed.
 */
export function verifyNote(
  { text, signatures }: Note,
  verifiers: readonly NoteVerifier[],
): readonly [NoteVerifier, ...NoteVerifier[]] {
  const found = new Set<NoteVerifier>();
  for (const { name, keyId, signature } of signatures) {
    const verifier = verifiers.find((one) => one.name === name && one.keyId === keyId);
    if (verifier === undefined) continue;
    if (!verify(null, Buffer.from(text), verifier.publicKey, signature)) {
      throw new Error(`the signature of ${name} does not fit the text`);
    }
    found.add(verifier);
  }
  const [first, ...others] = found;
  if (first === undefined) throw new Error("no known key has signed the note");
  return [first, ...others];
}

/** Standard base64 (RFC 4648 section 4) with its padding; `undefined` for any other text. */
export function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : undefined;
}
