import { sign, verify } from "node:crypto";
import { parseCheckpointText } from "./checkpoint.ts";
import { type NoteSigner, type NoteVerifier, SIGNATURE_TYPE_NUMBERS } from "./note-keys.ts";

/** Length of the timestamp before a signature, in bytes. */
const TIME_BYTES = 8;

/** Latest timestamp that C2SP tlog-cosignature allows ("Format"), Unix seconds. */
const MAX_TIME = 2n ** 63n - 1n;

/** First bytes of the message that ML-DSA-44 signs. */
const LABEL = "subtree/v1\n\0";

/**
 * Signs the text of a checkpoint with a timestamp in Unix seconds (C2SP tlog-cosignature,
 * "Format").
 */
export function signWithTime(text: string, signer: NoteSigner, seconds: bigint): Uint8Array {
  const signature = sign(null, messageOf(text, signer, seconds), signer.privateKey);
  return Buffer.concat([uint64(seconds), signature]);
}

/**
 * The timestamp of a signature on a text, Unix seconds; `undefined` if the signature is not valid.
 */
export function signatureTime(
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

/**
 * The bytes to sign.
 *
 * @throws {Error} If the type is ML-DSA-44 and the text is not a checkpoint.
 */
function messageOf(
  text: string,
  { name, type }: Pick<NoteVerifier, "name" | "type">,
  seconds: bigint,
): Uint8Array {
  // Message format of C2SP tlog-cosignature, "Ed25519 signed message".
  if (type !== SIGNATURE_TYPE_NUMBERS.mlDsa44) {
    return Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`);
  }
  // C2SP tlog-cosignature, "ML-DSA-44 signed message", for the subtree that begins at the first
  // leaf.
  const { origin, size, root } = parseCheckpointText(text);
  const parts = [Buffer.from(LABEL), opaque(name), uint64(seconds), opaque(origin)];
  return Buffer.concat([...parts, uint64(0n), uint64(BigInt(size)), root]);
}

function uint64(value: bigint): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(value);
  return bytes;
}

/** A text preceded by its length in one byte (RFC 8446 section 3.4). */
function opaque(text: string): Uint8Array {
  const bytes = Buffer.from(text);
  if (bytes.length > 255) throw new Error("the name of a log or key is longer than 255 bytes");
  return Buffer.concat([Uint8Array.of(bytes.length), bytes]);
}
