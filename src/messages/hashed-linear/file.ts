import { z } from "zod";
import { parseJson } from "../../lib/json.ts";
import { type HashedLinearModel, SENTIMENT_LABELS } from "../hashed-linear.ts";
import { FEATURE_BUCKETS } from "./features.ts";
import { fnv1a } from "./fnv1a.ts";

/** Maximum size of a model file in bytes; a valid file has about 263 kB. */
export const MAX_MODEL_BYTES = 400_000;

const WEIGHTS = FEATURE_BUCKETS * SENTIMENT_LABELS.length;

/** Maximum plausible log-odds per unit of weight. */
const MAX_SCALE = 1_000;

const ModelFile = z.strictObject({
  format: z.literal("hashed-linear"),
  version: z.literal(1),
  buckets: z.literal(FEATURE_BUCKETS),
  labels: z.tuple([
    z.literal(SENTIMENT_LABELS[0]),
    z.literal(SENTIMENT_LABELS[1]),
    z.literal(SENTIMENT_LABELS[2]),
  ]),
  scales: z.array(z.number().positive().max(MAX_SCALE)).length(SENTIMENT_LABELS.length),
  /** One signed byte for each label of each bucket, base64-encoded. */
  weights: z.base64().length(Math.ceil(WEIGHTS / 3) * 4),
  /** FNV-1a of scales and weights, hexadecimal; detects corruption, not tampering. */
  checksum: z.string(),
});

/** Serializes a model as one JSON object. */
export function serializeModel({ weights, scales }: HashedLinearModel): string {
  const encoded = btoa(latin1(new Uint8Array(weights.buffer)));
  return JSON.stringify({
    format: "hashed-linear",
    version: 1,
    buckets: FEATURE_BUCKETS,
    labels: SENTIMENT_LABELS,
    scales,
    weights: encoded,
    checksum: checksumOf(scales, encoded),
  });
}

/**
 * Parses an untrusted model file.
 *
 * @throws {Error} If it is too large, not a model of this version, or corrupted.
 */
export function parseModel(text: string): HashedLinearModel {
  if (text.length > MAX_MODEL_BYTES) throw new Error("The model is too large to be one.");
  const json = parseJson(text);
  if (json === undefined) throw new Error("The model is not valid: it is no JSON.");
  const { success, data, error } = ModelFile.safeParse(json);
  if (!success) throw new Error(`The model is not valid: ${problem(error)}.`);
  const { scales, weights, checksum } = data;
  if (checksum !== checksumOf(scales, weights)) {
    throw new Error("The model is damaged: its checksum is another.");
  }
  return {
    weights: Int8Array.from(atob(weights), (char) => (char.charCodeAt(0) << 24) >> 24),
    scales,
  };
}

/** Describes the first invalid member by its path, without its value, which may be long. */
function problem({ issues: [issue] }: z.ZodError): string {
  const member = issue?.path.join(".") ?? "";
  return member === "" ? "its members are others" : `${member} is not as it has to be`;
}

/**
 * Converts bytes to a binary string for `btoa`, in chunks small enough to pass as the arguments of
 * one call.
 */
function latin1(bytes: Uint8Array): string {
  const PIECE = 8_192;
  const pieces: string[] = [];
  for (let at = 0; at < bytes.length; at += PIECE) {
    pieces.push(String.fromCharCode(...bytes.subarray(at, at + PIECE)));
  }
  return pieces.join("");
}

const checksumOf = (scales: readonly number[], weights: string): string =>
  fnv1a(`${scales.join(" ")} ${weights}`)
    .toString(16)
    .padStart(8, "0");
