import { sign, verify } from "node:crypto";
import { parseCheckpointText } from "./checkpoint.ts";
import { type NoteSigner, type NoteVerifier, SIGNATURE_TYPES } from "./note-keys.ts";

/** Length of the time before a signature, in bytes. */
const TIME_BYTES = 8;

/** Latest time that C2SP tlog-cosignature allows ("Format"). */
const MAX_TIME = 2n ** 63n - 1n;

/** First bytes of the message that ML-DSA-44 signs. */
const LABEL = "subtree/v1\n\0";

/** Signs the text of a checkpoint with a time, Unix seconds (C2SP tlog-cosignature, "Format"). */
export function signAt(text: string, signer: NoteSigner, seconds: bigint): Uint8Array {
  const signature = sign(null, messageOf(text, signer, seconds), signer.privateKey);
  return Buffer.concat([uint64(seconds), signature]);
}

/** The time with which a text was signed, Unix seconds; `undefined` if the key has not signed it
 *  with a time. */
export function timeSigned(
  text: string,
  verifier: NoteVerifier,
  signature: Uint8Array,
): bigint | undefined {
  const bytes = Buffer.from(signature);
  if (bytes.length <= TIME_BYTES) return undefined;
  const seconds = bytes.readBigUInt64BE();
  if (seconds > MAX_TIME) return undefined;
  const message = messageOf(text, verifier, seconds);
  const isSigned = verify(null, message, verifier.publicKey, bytes.subarray(TIME_BYTES));
  return isSigned ? seconds : undefined;
}

/** The bytes that are signed. @throws {Error} If ML-DSA-44 is to sign a text that is not a checkpoint. */
function messageOf(
  text: string,
  { name, type }: Pick<NoteVerifier, "name" | "type">,
  seconds: bigint,
): Uint8Array {
  // C2SP tlog-cosignature, "Ed25519 signed message".
  if (type !== SIGNATURE_TYPES.mlDsa44) {
    return Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`);
  }
  // "ML-DSA-44 signed message": a tree that starts with the first leaf.
  const { origin, size, root } = parseCheckpointText(text);
  const parts = [Buffer.from(LABEL), opaque(name), uint64(seconds), opaque(origin)];
  return Buffer.concat([...parts, uint64(0n), uint64(BigInt(size)), root]);
}

function uint64(value: bigint): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(value);
  return bytes;
}

/** A text after its length in one byte (RFC 8446 section 3.4). */
function opaque(text: string): Uint8Array {
  const bytes = Buffer.from(text);
  if (bytes.length > 255) throw new Error("the name of a log or key is longer than 255 bytes");
  return Buffer.concat([Uint8Array.of(bytes.length), bytes]);
}
