import { type KeyObject, sign, verify } from "node:crypto";
import {
  COSIGNATURE,
  type Note,
  type NoteSigner,
  type NoteVerifier,
  noteSigner,
  signatureLine,
} from "../signed-note.ts";

/** Length of the time before the signature, in bytes. */
const TIME_BYTES = 8;

/** What a witness states: it had seen no larger tree of the log by then, and all of them were consistent. */
export interface Cosignature {
  readonly verifier: NoteVerifier;
  /** Unix milliseconds. */
  readonly at: number;
  /** The signature line of the note. */
  readonly line: string;
}

/** The signer of a witness. */
export const cosigner = (name: string, privateKey: KeyObject): NoteSigner =>
  noteSigner(name, privateKey, COSIGNATURE);

/** The text that an Ed25519 cosignature signs (C2SP tlog-cosignature, "Ed25519 signed message"). */
const messageOf = (text: string, seconds: number | bigint): Buffer =>
  Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`);

/** Cosigns the text of a checkpoint. @param now Unix milliseconds. @returns The signature line. */
export function cosign(text: string, signer: NoteSigner, now: number): string {
  const seconds = Math.floor(now / 1_000);
  const time = Buffer.alloc(TIME_BYTES);
  time.writeBigUInt64BE(BigInt(seconds));
  const signature = sign(null, messageOf(text, seconds), signer.privateKey);
  return signatureLine(signer, Buffer.concat([time, signature]));
}

/**
 * The cosignatures of known witnesses on a checkpoint, one of each. Those of others are passed over.
 *
 * @throws {Error} If a line of a known witness does not fit the text.
 */
export function cosignaturesOf(
  { text, signatures }: Note,
  verifiers: readonly NoteVerifier[],
): readonly Cosignature[] {
  const found = new Map<NoteVerifier, Cosignature>();
  for (const { name, keyId, signature } of signatures) {
    const verifier = verifiers.find((one) => one.name === name && one.keyId === keyId);
    if (verifier === undefined) continue;
    const bytes = Buffer.from(signature);
    const seconds = bytes.length > TIME_BYTES ? bytes.readBigUInt64BE() : 0n;
    const message = messageOf(text, seconds);
    const isValid = verify(null, message, verifier.publicKey, bytes.subarray(TIME_BYTES));
    if (seconds === 0n || !isValid) {
      throw new Error(`the cosignature of ${name} does not fit the checkpoint`);
    }
    const line = signatureLine(verifier, bytes);
    found.set(verifier, { verifier, at: 1_000 * Number(seconds), line });
  }
  return [...found.values()];
}
