import { createPublicKey, hash, type KeyObject } from "node:crypto";
import { decodeBase64, isKeyName, KEY_ID_BYTES } from "./signed-note.ts";

/** C2SP signed-note numbers of the signature types. */
export const SIGNATURE_TYPE_NUMBERS = {
  /** Ed25519 signature on the text of a note, by logs (C2SP signed-note). */
  ed25519: 0x01,
  /** Timestamped Ed25519 signature, by witnesses (C2SP tlog-cosignature). */
  cosignature: 0x04,
  /** Timestamped ML-DSA-44 signature, by logs and witnesses (C2SP tlog-cosignature). */
  mlDsa44: 0x06,
} as const;

type SignatureType = (typeof SIGNATURE_TYPE_NUMBERS)[keyof typeof SIGNATURE_TYPE_NUMBERS];

/** Lengths of public keys in bytes (RFC 8032 section 5.1.5; FIPS 204 table 2). */
const PUBLIC_KEY_BYTES: Readonly<Record<SignatureType, number>> = {
  [SIGNATURE_TYPE_NUMBERS.ed25519]: 32,
  [SIGNATURE_TYPE_NUMBERS.cosignature]: 32,
  [SIGNATURE_TYPE_NUMBERS.mlDsa44]: 1_312,
};

/** Name, id and type of a key. */
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

/** Whether a key is an ML-DSA-44 key; otherwise it is an Ed25519 key. */
const isMlDsa44 = ({ asymmetricKeyType }: KeyObject): boolean => asymmetricKeyType === "ml-dsa-44";

/**
 * Creates the signer of a log from an Ed25519 or ML-DSA-44 private key.
 *
 * @throws {Error} If the name is not a key name.
 */
export const createLogNoteSigner = (name: string, privateKey: KeyObject): NoteSigner =>
  signerOf(name, privateKey, isMlDsa44(privateKey) ? "mlDsa44" : "ed25519");

/**
 * Creates the signer of a witness from an Ed25519 or ML-DSA-44 private key.
 *
 * @throws {Error} If the name is not a key name.
 */
export const createWitnessNoteSigner = (name: string, privateKey: KeyObject): NoteSigner =>
  signerOf(name, privateKey, isMlDsa44(privateKey) ? "mlDsa44" : "cosignature");

function signerOf(
  name: string,
  privateKey: KeyObject,
  scheme: keyof typeof SIGNATURE_TYPE_NUMBERS,
): NoteSigner {
  if (!isKeyName(name)) throw new Error("this cannot be the name of a key");
  const type = SIGNATURE_TYPE_NUMBERS[scheme];
  const keyId = keyIdOf(name, type, rawKey(createPublicKey(privateKey)));
  return { name, keyId, type, privateKey };
}

/** The raw bytes of a public key. */
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

/** The public half of a signer, which verifies its signatures. */
export const verifierOf = ({ privateKey, ...named }: NoteSigner): NoteVerifier => ({
  ...named,
  publicKey: createPublicKey(privateKey),
});

/**
 * Parses the verifier key of a log.
 *
 * @throws {Error} If the text is not such a key.
 */
export const parseLogVerifier = (text: string): NoteVerifier => parseKey(text, "ed25519");

/**
 * Parses the verifier key of a witness.
 *
 * @throws {Error} If the text is not such a key.
 */
export const parseWitnessVerifier = (text: string): NoteVerifier => parseKey(text, "cosignature");

/**
 * Parses a verifier key.
 *
 * @param scheme The scheme that is accepted besides ML-DSA-44.
 */
function parseKey(text: string, scheme: "ed25519" | "cosignature"): NoteVerifier {
  const [name = "", keyId = "", ...rest] = text.split("+");
  // The base64 part may contain a plus.
  const [first, ...others] = decodeBase64(rest.join("+")) ?? [];
  const type = [SIGNATURE_TYPE_NUMBERS[scheme], SIGNATURE_TYPE_NUMBERS.mlDsa44].find(
    (one) => one === first,
  );
  if (!isKeyName(name) || type === undefined || others.length !== PUBLIC_KEY_BYTES[type]) {
    const whose = scheme === "ed25519" ? "log" : "witness";
    throw new Error(
      `a text of ${text.length} characters is not a key of a ${whose}: <name>+<key id>+<Ed25519 or ML-DSA-44 key in base64>`,
    );
  }
  const publicKey = Buffer.from(others);
  if (keyId !== keyIdOf(name, type, publicKey))
    throw new Error("the id of the key is not that of its name and bytes");
  return { name, keyId, type, publicKey: publicKeyOf(type, publicKey.toString("base64url")) };
}

function publicKeyOf(type: SignatureType, bytes: string): KeyObject {
  const key =
    type === SIGNATURE_TYPE_NUMBERS.mlDsa44
      ? { kty: "AKP", alg: "ML-DSA-44", pub: bytes }
      : { kty: "OKP", crv: "Ed25519", x: bytes };
  return createPublicKey({ key, format: "jwk" });
}
