import { CheckFailure, failedCheck, type VerificationCheck } from "../../tree/check.ts";
import { parseCheckpoint, type SignedCheckpoint } from "../../tree/checkpoint.ts";
import type { CheckpointSighting } from "../../tree/known-log.ts";
import type { NoteVerifier } from "../../tree/note-keys.ts";
import { verifyNote } from "../../tree/note-signatures.ts";
import { hashLogOrigin } from "../witness/add-checkpoint-request.ts";
import { cosignaturesOf } from "../witness/cosignature.ts";
import type { PolicyWitness, WitnessPolicy } from "../witness/policy.ts";

const NAME = "witnesses";

/**
 * Time within which a log has to publish a checkpoint that a witness has cosigned, in milliseconds.
 */
const PUBLISHING_MS = 600_000;

/** Result when no witness is trusted: only the log itself states when an entry existed. */
const NO_WITNESSES: VerificationCheck = {
  name: NAME,
  outcome: "not_proved",
  detail: "no witness was asked (--policy): that others saw the same log is not proved",
};

/** Input of the witness check. */
export interface WitnessCheckInput {
  readonly checkpoint: SignedCheckpoint;
  /** Policy with the trusted witnesses; `undefined` if no witness is trusted. */
  readonly policy: WitnessPolicy | undefined;
  /** Verifier keys of the log. */
  readonly keys: readonly NoteVerifier[];
  /** Clock of the verifier, Unix milliseconds. */
  readonly now: number;
  /**
   * Fetches a URL of a witness; absent when offline. If there is no answer, it rejects or resolves
   * with `undefined`.
   */
  readonly ask?: ((url: string) => Promise<string | undefined>) | undefined;
}

/** Result of checking the cosignatures of a checkpoint. */
interface CosignatureCheck {
  readonly check: VerificationCheck;
  /** The checkpoint, and when a quorum had seen it. */
  readonly quorum?: CheckpointSighting;
}

/** Evidence of witnesses about a log. */
interface WitnessView extends CosignatureCheck {
  /**
   * The last checkpoint that each witness returned, except checkpoints that are larger than the
   * checkpoint being verified.
   */
  readonly sightings: readonly CheckpointSighting[];
}

/** Checks whether a quorum of witnesses has cosigned a checkpoint. */
export function checkCosignatures(
  { note, size, root }: SignedCheckpoint,
  policy: WitnessPolicy | undefined,
): CosignatureCheck {
  if (policy === undefined) return { check: NO_WITNESSES };
  try {
    const cosignatures = cosignaturesOf(note, policy.verifiers);
    const seenAt = policy.quorumAt(cosignatures);
    const count = `${cosignatures.length} of ${policy.witnesses.length} witnesses`;
    if (seenAt === undefined) {
      const detail = `${count} cosigned the checkpoint, which is no quorum`;
      return { check: { name: NAME, outcome: "not_proved", detail } };
    }
    const detail = `${count} cosigned the checkpoint, a quorum by ${new Date(seenAt).toISOString()}`;
    return {
      check: { name: NAME, outcome: "proved", detail },
      quorum: { size, root: Buffer.from(root).toString("base64"), seenAt },
    };
  } catch (error) {
    return { check: failedCheck(NAME, new CheckFailure((error as Error).message)) };
  }
}

/** Compares a checkpoint with its own cosignatures, and with the checkpoints that witnesses return
 *  when asked. */
export async function witnessViewOf(question: WitnessCheckInput): Promise<WitnessView> {
  const { policy, checkpoint } = question;
  const cosigned = checkCosignatures(checkpoint, policy);
  try {
    const asked = (policy?.witnesses ?? []).map((witness) => heldBy(witness, question));
    return { ...cosigned, sightings: (await Promise.all(asked)).flat() };
  } catch (error) {
    return { check: failedCheck(NAME, error), sightings: [] };
  }
}

/**
 * The last checkpoint that a witness cosigned, as a list. The list is empty if the witness returns
 * no checkpoint that the log signed, or one that is larger than the checkpoint being verified.
 *
 * @throws {CheckFailure} If the witness cosigned a larger tree so long ago that the log should have
 * published it.
 */
async function heldBy(
  { name, url, verifier }: PolicyWitness,
  { checkpoint, keys, now, ask }: WitnessCheckInput,
): Promise<readonly CheckpointSighting[]> {
  if (url === undefined || ask === undefined) return [];
  const { origin, size } = checkpoint;
  const held = await ask(`${url}/${hashLogOrigin(origin)}/checkpoint`).then(
    (text) => (text === undefined ? undefined : readHeld(text, verifier, keys)),
    () => undefined,
  );
  if (held?.origin !== origin) return [];
  const { at } = held;
  if (held.size <= size) {
    const root = Buffer.from(held.root).toString("base64");
    return [{ size: held.size, root, seenAt: at, by: name }];
  }
  if (now - at < PUBLISHING_MS) return [];
  const seen = `${name} cosigned ${held.size} entries at ${new Date(at).toISOString()}`;
  throw new CheckFailure(`the log was rolled back: ${seen}, and it shows ${size}`, size);
}

/**
 * Parses the checkpoint that a witness returns.
 *
 * @throws {Error} If the log has not signed it, or a signature is wrong.
 */
function readHeld(text: string, witness: NoteVerifier, keys: readonly NoteVerifier[]) {
  const checkpoint = parseCheckpoint(text);
  verifyNote(checkpoint.note, keys);
  const [cosignature] = cosignaturesOf(checkpoint.note, [witness]);
  return cosignature && { ...checkpoint, at: cosignature.at };
}
