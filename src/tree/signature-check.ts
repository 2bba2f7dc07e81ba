import { CheckFailure, failedCheck, type VerificationCheck } from "./check.ts";
import { parseCheckpoint, type SignedCheckpoint, shownOrigin } from "./checkpoint.ts";
import { type KnownLog, knownLogWithSighting } from "./known-log.ts";
import { type NoteVerifier, parseLogVerifier } from "./note-keys.ts";
import { verifyNote } from "./note-signatures.ts";

/** The keys and earlier observations that a log is verified against. */
export interface KeyTrust {
  /** Verifier keys that the caller obtained from another source (C2SP signed-note). */
  readonly keys: readonly string[];
  /** State of the log stored by earlier verifications; `undefined` before the first one. */
  readonly known: KnownLog | undefined;
}

/**
 * Parses the checkpoint of a log.
 *
 * @throws {CheckFailure} If the text is not a checkpoint.
 */
export function parseCheckpointOrFail(text: string): SignedCheckpoint {
  try {
    return parseCheckpoint(text);
  } catch (error) {
    throw new CheckFailure((error as Error).message);
  }
}

/** Data of a successful verification, from which `knownLogAfter` computes the state to store. */
interface VerifiedCheckpointContext {
  readonly known: KnownLog | undefined;
  /** The keys that the checkpoint was verified with. */
  readonly keys: readonly string[];
  /** The keys that the log publishes. */
  readonly published: readonly string[];
  /** When the checkpoint was seen, Unix milliseconds by the clock of the verifier. */
  readonly seenAt: number;
}

/**
 * The state to store for the next verification. After a rotation it includes the new key, which
 * signs together with the old one.
 */
export function knownLogAfter(
  { note, origin, size, root }: SignedCheckpoint,
  { known, keys, published, seenAt }: VerifiedCheckpointContext,
): KnownLog {
  const signing = published.filter((text) => {
    const { keyId } = parseVerifierOrFail(text);
    const hasSigned = note.signatures.some((one) => one.name === origin && one.keyId === keyId);
    return hasSigned && signedBy(note, [parseVerifierOrFail(text)], origin).length > 0;
  });
  const seen = { origin, keys: [...new Set([...keys, ...signing])] };
  return knownLogWithSighting(known, seen, {
    size,
    root: Buffer.from(root).toString("base64"),
    seenAt,
  });
}

/**
 * Checks whether a log has signed a checkpoint.
 *
 * @param keys The keys to verify it with.
 */
export function checkSignature(
  { origin, note }: SignedCheckpoint,
  { keys: pinned, known }: KeyTrust,
  keys: readonly string[],
): VerificationCheck {
  const name = "signature";
  try {
    if (known !== undefined && known.origin !== origin) {
      throw new CheckFailure(
        `the log has another origin than ${shownOrigin(known.origin)}, which was seen before`,
      );
    }
    if (keys.length === 0) {
      return { name, outcome: "not_proved", detail: "give the key of the log with --key" };
    }
    const [key] = signedBy(note, keys.map(parseVerifierOrFail), origin);
    if (pinned.length > 0) signedBy(note, pinned.map(parseVerifierOrFail), origin);
    if (pinned.length > 0 || known !== undefined) {
      const from = pinned.length > 0 ? "that was given" : "of the first look";
      return { name, outcome: "proved", detail: `by the key ${key.keyId} ${from}` };
    }
    const detail = `by the key ${key.keyId}, which only the log itself vouches for (--key, --state)`;
    return { name, outcome: "not_proved", detail };
  } catch (error) {
    return failedCheck(name, error);
  }
}

/**
 * The known keys that have signed a note.
 *
 * @throws {CheckFailure} If no known key has signed, or the signature of one is wrong.
 */
function signedBy(note: SignedCheckpoint["note"], keys: readonly NoteVerifier[], origin: string) {
  try {
    return verifyNote(
      note,
      keys.filter(({ name }) => name === origin),
    );
  } catch (error) {
    throw new CheckFailure((error as Error).message);
  }
}

/**
 * Parses the verifier key of a log.
 *
 * @throws {CheckFailure} If the text is not such a key.
 */
export function parseVerifierOrFail(text: string): NoteVerifier {
  try {
    return parseLogVerifier(text);
  } catch (error) {
    throw new CheckFailure((error as Error).message);
  }
}
