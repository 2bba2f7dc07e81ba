import { sign, verify } from "node:crypto";
import { type NoteSigner, type NoteVerifier, SIGNATURE_TYPE_NUMBERS } from "./note-keys.ts";
import { type ParsedNote, signatureLine } from "./signed-note.ts";
import { signatureTime, signWithTime } from "./timed-signature.ts";

/**
 * Timestamp in a log's own ML-DSA-44 signature. It is zero, because only witnesses state a time.
 */
const NO_TIME = 0n;

/** Signs a text, which must end with a newline. ML-DSA-44 signs the texts of checkpoints only. */
export function signNote(text: string, signers: readonly NoteSigner[]): string {
  const lines = signers.map((signer) =>
    signatureLine(
      signer,
      signer.type === SIGNATURE_TYPE_NUMBERS.ed25519
        ? sign(null, Buffer.from(text), signer.privateKey)
        : signWithTime(text, signer, NO_TIME),
    ),
  );
  return `${text}\n${lines.join("")}`;
}

/**
 * The known keys that have signed a note. Signatures of other keys are ignored, as C2SP signed-note
 * requires.
 *
 * @throws {Error} If the signature of a known key is wrong, or no known key has signed.
 */
export function verifyNote(
  { text, signatures }: ParsedNote,
  verifiers: readonly NoteVerifier[],
): readonly [NoteVerifier, ...NoteVerifier[]] {
  const found = new Set<NoteVerifier>();
  for (const { name, keyId, signature } of signatures) {
    const verifier = verifiers.find((one) => one.name === name && one.keyId === keyId);
    if (verifier === undefined) continue;
    if (!hasSigned(verifier, text, signature)) {
      throw new Error(`the signature by the key ${keyId} does not fit the text`);
    }
    found.add(verifier);
  }
  const [first, ...others] = found;
  if (first === undefined) throw new Error("no known key has signed the note");
  return [first, ...others];
}

const hasSigned = (verifier: NoteVerifier, text: string, signature: Uint8Array): boolean =>
  verifier.type === SIGNATURE_TYPE_NUMBERS.ed25519
    ? verify(null, Buffer.from(text), verifier.publicKey, signature)
    : signatureTime(text, verifier, signature) !== undefined;
