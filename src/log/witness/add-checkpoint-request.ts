import { hash } from "node:crypto";
import { parseCheckpoint, parseDecimal, type SignedCheckpoint } from "../../tree/checkpoint.ts";
import { HASH_BYTES, type Hash } from "../../tree/merkle.ts";
import { decodeBase64 } from "../../tree/signed-note.ts";

/** Maximum number of hashes in a consistency proof that C2SP tlog-witness allows. */
const MAX_HASHES = 63;

/**
 * Media type of the response to a request with an outdated size; the response body is the size that
 * the witness has cosigned.
 */
export const TREE_SIZE_MEDIA_TYPE = "text/x.tlog.size";

/** Identifier of a log in the URLs of a witness: SHA-256 of its origin, in hexadecimal. */
export const hashLogOrigin = (origin: string): string => hash("sha256", origin, "hex");

/** A log's request to a witness to cosign a checkpoint (C2SP tlog-witness, "add-checkpoint"). */
export interface AddCheckpointRequest {
  /** Size of the last checkpoint of the log that the witness cosigned. */
  readonly old: number;
  /** Consistency proof from the old size to the size of the checkpoint. */
  readonly proof: readonly Hash[];
  /** The signed note of the checkpoint. */
  readonly note: string;
}

/** The body of an add-checkpoint request. */
export function formatAddCheckpointRequest({ old, proof, note }: AddCheckpointRequest): string {
  const hashes = proof.map((hash) => `${Buffer.from(hash).toString("base64")}\n`);
  return `old ${old}\n${hashes.join("")}\n${note}`;
}

/**
 * Parses the body of an add-checkpoint request without verifying it.
 *
 * @throws {Error} If the body is malformed.
 */
export function parseAddCheckpointRequest(
  body: string,
): AddCheckpointRequest & { readonly signed: SignedCheckpoint } {
  const end = body.indexOf("\n\n");
  const [first = "", ...lines] = body.slice(0, Math.max(0, end)).split("\n");
  const old = first.startsWith("old ") ? parseDecimal(first.slice("old ".length)) : undefined;
  if (old === undefined) throw new Error("the first line is not old <size>");
  if (lines.length > MAX_HASHES) throw new Error(`the proof has more than ${MAX_HASHES} hashes`);
  const proof = lines.map((line) => {
    const hash = decodeBase64(line);
    if (hash?.length !== HASH_BYTES) throw new Error("the proof has a malformed hash");
    return hash;
  });
  const note = body.slice(end + 2);
  return { old, proof, note, signed: parseCheckpoint(note) };
}
