import type { NoteSigner, NoteVerifier } from "../../tree/note-keys.ts";
import { type ParsedNote, signatureLine } from "../../tree/signed-note.ts";
import { signatureTime, signWithTime } from "../../tree/timed-signature.ts";

/**
 * A witness's statement that, at the given time, it had seen no larger tree of the log, and that
 * all trees it had seen were consistent.
 */
export interface Cosignature {
  readonly verifier: NoteVerifier;
  /** When the witness cosigned, Unix milliseconds. */
  readonly at: number;
  /** The signature line of the note. */
  readonly line: string;
}

/**
 * Cosigns the text of a checkpoint.
 *
 * @param now Unix milliseconds.
 * @returns The signature line.
 */
export function cosign(text: string, signer: NoteSigner, now: number): string {
  const seconds = BigInt(Math.floor(now / 1_000));
  return signatureLine(signer, signWithTime(text, signer, seconds));
}

/**
 * The cosignatures of known witnesses on a checkpoint, one per witness. Cosignatures of other
 * witnesses are ignored.
 *
 * @throws {Error} If the signature of a known witness is wrong.
 */
export function cosignaturesOf(
  { text, signatures }: ParsedNote,
  verifiers: readonly NoteVerifier[],
): readonly Cosignature[] {
  const found = new Map<NoteVerifier, Cosignature>();
  for (const { name, keyId, signature } of signatures) {
    const verifier = verifiers.find((one) => one.name === name && one.keyId === keyId);
    if (verifier === undefined) continue;
    const seconds = signatureTime(text, verifier, signature) ?? 0n;
    if (seconds === 0n)
      throw new Error(`the cosignature by the key ${keyId} does not fit the checkpoint`);
    const line = signatureLine(verifier, signature);
    found.set(verifier, { verifier, at: 1_000 * Number(seconds), line });
  }
  return [...found.values()];
}
