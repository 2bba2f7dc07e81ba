import { createPrivateKey, type JsonWebKey } from "node:crypto";
import type { Key } from "../keys/key-records.ts";
import type { Keyring } from "../keys/keyring.ts";
import { type Checkpoint, checkpointText } from "./checkpoint.ts";
import { createLogNoteSigner, type NoteSigner } from "./note-keys.ts";
import { signNote } from "./note-signatures.ts";

/** The part of a keyring that signs. */
export type SigningKeys = Pick<Keyring, "keys">;

/**
 * Uses of the keys that sign logs, one per algorithm: Ed25519, and ML-DSA-44, which resists quantum
 * computers.
 */
export const LOG_KEY_USES = ["log-signing", "log-signing-ml-dsa"] as const;
type LogKey = Key<(typeof LOG_KEY_USES)[number]>;

/** The signers of a log, newest first within each kind: after a rotation the old key still signs
 *  until its retention ends. */
export const signersOf = (keyring: SigningKeys, origin: string): readonly NoteSigner[] =>
  LOG_KEY_USES.flatMap((use) => keyring.keys(use)).map((key) => signerOf(key, origin));

/**
 * Signs the checkpoint of a log.
 *
 * @returns The signed note.
 */
export const signCheckpoint = (keyring: SigningKeys, checkpoint: Checkpoint): string =>
  signNote(checkpointText(checkpoint), signersOf(keyring, checkpoint.origin));

/** Signers of a key by the origins of their logs. */
const signers = new WeakMap<LogKey, Map<string, NoteSigner>>();

function signerOf(key: LogKey, origin: string): NoteSigner {
  const byOrigin = signers.get(key) ?? new Map<string, NoteSigner>();
  signers.set(key, byOrigin);
  const known = byOrigin.get(origin);
  if (known !== undefined) return known;
  const jwk = { ...key.jwk } as JsonWebKey;
  const signer = createLogNoteSigner(origin, createPrivateKey({ key: jwk, format: "jwk" }));
  byOrigin.set(origin, signer);
  return signer;
}
