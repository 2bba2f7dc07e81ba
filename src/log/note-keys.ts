import { createPublicKey, hash, type KeyObject } from "node:crypto";
import { decodeBase64, isKeyName, KEY_ID_BYTES } from "./signed-note.ts";

/** Types of signatures, as C2SP signed-note numbers them. */
export const SIGNATURE_TYPES = {
  /** Ed25519 on the text of a note, by logs (C2SP signed-note). */
  ed25519: 0x01,
  /** Ed25519 with a time, by witnesses (C2SP tlog-cosignature). */
  cosignature: 0x04,
  /** ML-DSA-44 with a time, by logs and witnesses (C2SP tlog-cosignature). */
  mlDsa44: 0x06,
} as const;

type SignatureType = (typeof SIGNATURE_TYPES)[keyof typeof SIGNATURE_TYPES];

/** Lengths of public keys in bytes (RFC 8032 section 5.1.5; FIPS 204 table 2). */
const PUBLIC_KEY_BYTES: Readonly<Record<SignatureType, number>> = {
  [SIGNATURE_TYPES.ed25519]: 32,
  [SIGNATURE_TYPES.cosignature]: 32,
  [SIGNATURE_TYPES.mlDsa44]: 1_312,
};

/** Name and id of the key of a signer or verifier. */
interface KeyName {
  readonly name: string;
  /** The first four bytes of SHA-256(name || LF || type || public key), in hexadecimal. */
  readonly keyId: string;
  readonly type: SignatureType;
}

/** A public key that verifies notes. */
export interface NoteVerifier extends KeyName {
  readonly publicKey: KeyObject;
}

/** A private key that signs notes. */
export interface NoteSigner extends KeyName {
  readonly privateKey: KeyObject;
}

/** Whether a key is of ML-DSA-44, and not of Ed25519. */
const isMlDsa44 = ({ asymmetricKeyType }: KeyObject): boolean => asymmetricKeyType === "ml-dsa-44";

/** The signer of a log with a private key of Ed25519 or ML-DSA-44. */
export const noteSigner = (name: string, privateKey: KeyObject): NoteSigner =>
  signerOf(name, privateKey, isMlDsa44(privateKey) ? "mlDsa44" : "ed25519");

/** The signer of a witness with a private key of Ed25519 or ML-DSA-44. */
export const cosigner = (name: string, privateKey: KeyObject): NoteSigner =>
  signerOf(name, privateKey, isMlDsa44(privateKey) ? "mlDsa44" : "cosignature");

function signerOf(
  name: string,
  privateKey: KeyObject,
  scheme: keyof typeof SIGNATURE_TYPES,
): NoteSigner {
  const type = SIGNATURE_TYPES[scheme];
  const keyId = keyIdOf(name, type, rawKey(createPublicKey(privateKey)));
  return { name, keyId, type, privateKey };
}

/** The bytes of a public key. */
function rawKey(key: KeyObject): Uint8Array {
  const { x, pub = x } = key.export({ format: "jwk" });
  return Buffer.from(String(pub), "base64url");
}

function keyIdOf(name: string, type: SignatureType, publicKey: Uint8Array): string {
  const bytes = Buffer.concat([Buffer.from(`${name}\n`), Uint8Array.of(type), publicKey]);
  return hash("sha256", bytes, "hex").slice(0, 2 * KEY_ID_BYTES);
}

/** The verifier key in text form: `<name>+<key id>+<base64 of type and public key>`. */
export function verifierText({ name, keyId, type, privateKey }: NoteSigner): string {
  const bytes = Buffer.concat([Uint8Array.of(type), rawKey(createPublicKey(privateKey))]);
  return `${name}+${keyId}+${bytes.toString("base64")}`;
}

/** What verifies the notes of a signer. */
export const verifierOf = ({ privateKey, ...named }: NoteSigner): NoteVerifier => ({
  ...named,
  publicKey: createPublicKey(privateKey),
});

/** A key of a log. @throws {Error} If the text is not one. */
export const parseVerifier = (text: string): NoteVerifier => parseKey(text, "ed25519");

/** A key of a witness. @throws {Error} If the text is not one. */
export const parseCosigner = (text: string): NoteVerifier => parseKey(text, "cosignature");

/** @param scheme The scheme that is accepted besides ML-DSA-44. */
function parseKey(text: string, scheme: "ed25519" | "cosignature"): NoteVerifier {
  const [name = "", keyId = "", ...rest] = text.split("+");
  // Base64 may contain a plus itself.
  const [first, ...others] = decodeBase64(rest.join("+")) ?? [];
  const type = [SIGNATURE_TYPES[scheme], SIGNATURE_TYPES.mlDsa44].find((one) => one === first);
  if (!isKeyName(name) || type === undefined || others.length !== PUBLIC_KEY_BYTES[type]) {
    const whose = scheme === "ed25519" ? "log" : "witness";
    throw new Error(
      `"${text}" is not a key of a ${whose}: <name>+<key id>+<Ed25519 or ML-DSA-44 key in base64>`,
    );
  }
  const publicKey = Buffer.from(others);
  if (keyId !== keyIdOf(name, type, publicKey))
    throw new Error(`the id of the key "${text}" is wrong`);
  return { name, keyId, type, publicKey: publicKeyOf(type, publicKey.toString("base64url")) };
}

function publicKeyOf(type: SignatureType, bytes: string): KeyObject {
  const key =
    type === SIGNATURE_TYPES.mlDsa44
      ? { kty: "AKP", alg: "ML-DSA-44", pub: bytes }
      : { kty: "OKP", crv: "Ed25519", x: bytes };
  return createPublicKey({ key, format: "jwk" });
}
