import { parseCheckpoint, parseDecimal, type SignedCheckpoint } from "./checkpoint.ts";
import { HASH_BYTES, type Hash } from "./merkle.ts";
import { decodeBase64 } from "./signed-note.ts";

/** First line of a proof. */
const HEADER = "c2sp.org/tlog-proof@v1";

/** Maximum number of hashes in a proof: one for each level of a tree of 2^53 leaves. */
const MAX_HASHES = 53;

/** A proof that an entry is in a log (C2SP tlog-proof). */
interface TlogProof {
  readonly index: number;
  readonly proof: readonly Hash[];
  /** The signed checkpoint, verbatim. */
  readonly checkpoint: string;
  /**
   * Data that the format does not authenticate; here the entry itself, which the inclusion proof
   * verifies.
   */
  readonly extra?: Uint8Array;
}

/** The text of a `.tlog-proof` file. */
export function proofText({ index, proof, checkpoint, extra }: TlogProof): string {
  const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");
  const lines = [
    HEADER,
    ...(extra === undefined ? [] : [`extra ${base64(extra)}`]),
    `index ${index}`,
    ...proof.map(base64),
  ];
  return `${lines.join("\n")}\n\n${checkpoint}`;
}

/**
 * Parses a `.tlog-proof` file without verifying it.
 *
 * @throws {Error} If the text is not a proof.
 */
export function parseProof(text: string): TlogProof & { readonly signed: SignedCheckpoint } {
  const end = text.indexOf("\n\n");
  const [header, ...lines] = text.slice(0, Math.max(0, end)).split("\n");
  if (header !== HEADER) throw new Error(`this is not a proof: its first line is not ${HEADER}`);
  const extraLine = lines[0]?.startsWith("extra ") ? lines.shift() : undefined;
  const extra =
    extraLine === undefined ? undefined : decodeBase64(extraLine.slice("extra ".length));
  if (extraLine !== undefined && extra === undefined)
    throw new Error("the extra line is not base64");
  const indexLine = lines.shift() ?? "";
  const index = indexLine.startsWith("index ")
    ? parseDecimal(indexLine.slice("index ".length))
    : undefined;
  if (index === undefined) throw new Error("the proof has no index");
  if (lines.length > MAX_HASHES) throw new Error("the proof has too many hashes");
  const proof = lines.map((line) => {
    const bytes = decodeBase64(line);
    if (bytes?.length !== HASH_BYTES) throw new Error("the proof has a malformed hash");
    return bytes;
  });
  const checkpoint = text.slice(end + 2);
  const signed = parseCheckpoint(checkpoint);
  return { index, proof, checkpoint, signed, ...(extra !== undefined && { extra }) };
}
