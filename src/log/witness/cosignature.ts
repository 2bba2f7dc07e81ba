import type { NoteSigner, NoteVerifier } from "../note-keys.ts";
import { type Note, signatureLine } from "../signed-note.ts";
import { signAt, timeSigned } from "../timed-signature.ts";

/** What a witness states: it had seen no larger tree of the log by then, and all of them were consistent. */
export interface Cosignature {
  readonly verifier: NoteVerifier;
  /** Unix milliseconds. */
  readonly at: number;
  /** The signature line of the note. */
  readonly line: string;
}

/** Cosigns the text of a checkpoint. @param now Unix milliseconds. @returns The signature line. */
export function cosign(text: string, signer: NoteSigner, now: number): string {
  const seconds = BigInt(Math.floor(now / 1_000));
  return signatureLine(signer, signAt(text, signer, seconds));
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
    const seconds = timeSigned(text, verifier, signature) ?? 0n;
    if (seconds === 0n) throw new Error(`the cosignature of ${name} does not fit the checkpoint`);
    const line = signatureLine(verifier, signature);
    found.set(verifier, { verifier, at: 1_000 * Number(seconds), line });
  }
  return [...found.values()];
}
