import { z } from "zod";
import { paths } from "../../lib/paths.ts";
import { LIMIT_HEADERS } from "../headers.ts";
import { jsonResponse, type Operation } from "../operation.ts";
import { PROTECTED_PROBLEMS, PUBLIC_PROBLEMS } from "../problems.ts";

const TEXT = [{ mediaType: "text/plain", schema: z.string() }];
const BYTES = [
  { mediaType: "application/octet-stream", schema: z.string().meta({ format: "binary" }) },
];

/** Schema of the size of a Merkle tree, or of the index of a leaf. */
const Count = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

/** Schema of the query with the two tree sizes of a consistency proof. */
export const ConsistencyQuery = z.strictObject({
  from: Count.describe("Size of the earlier tree."),
  to: Count.describe("Size of the later tree, at most that of the checkpoint."),
});

const LeafIndex = Count.describe("Index of the entry, from 0.");

const Hash = z.base64().describe("SHA-256 in base64.");

const LogConsistency = z.object({
  origin: z.string().describe("The log."),
  from: z.int().min(0),
  fromRoot: Hash,
  to: z.int().min(0),
  toRoot: Hash,
  proof: z.array(Hash).describe("RFC 6962 section 2.1.2."),
});

/** Operations on the transparency log of signals (C2SP tlog-tiles). */
export const signalLogOperations = [
  {
    id: "get_log_checkpoint",
    method: "get",
    path: paths.logCheckpoint,
    tag: "Log",
    summary: "Get the signed checkpoint",
    description:
      "Origin, size and root hash, signed (C2SP tlog-checkpoint). Keep it: what a later checkpoint does not extend was rewritten.",
    access: "public",
    limit: { per: "address", name: "visits" },
    allowsAnyOrigin: true,
    answers: { 200: { description: "The newest checkpoint.", content: TEXT } },
    problems: [...PUBLIC_PROBLEMS, "not_found"],
  },
  {
    id: "get_log_keys",
    method: "get",
    path: paths.logKeys,
    tag: "Log",
    summary: "Get the keys of checkpoints",
    description: "A verifier key per line (C2SP signed-note), the newest first.",
    access: "public",
    limit: { per: "address", name: "visits" },
    allowsAnyOrigin: true,
    answers: { 200: { description: "The keys.", content: TEXT } },
    problems: [...PUBLIC_PROBLEMS, "not_found"],
  },
  {
    id: "get_log_entries",
    method: "get",
    path: `${paths.logTiles}/entries/{bundle}`,
    takesRest: true,
    tag: "Log",
    summary: "Get a bundle of entries",
    description: `Up to 256 entries, each behind its length (C2SP tlog-tiles).`,
    access: { scopes: ["signals:read"], isPublicInSandbox: true },
    limit: { per: "address", name: "visits" },
    allowsAnyOrigin: true,
    pathMembers: z.object({
      bundle: z.string().meta({
        description: "Number of the bundle as tlog-tiles writes it, with its slashes.",
        examples: ["000.p/112"],
      }),
    }),
    answers: { 200: { description: "The bundle.", content: BYTES, headers: LIMIT_HEADERS } },
    problems: [...PROTECTED_PROBLEMS.filter((code) => code !== "invalid_request"), "not_found"],
  },
  {
    id: "get_log_tile",
    method: "get",
    path: `${paths.logTiles}/{tile}`,
    takesRest: true,
    tag: "Log",
    summary: "Get a tile of the tree",
    description: "Up to 256 hashes (C2SP tlog-tiles).",
    access: "public",
    limit: { per: "address", name: "visits" },
    allowsAnyOrigin: true,
    pathMembers: z.object({
      tile: z.string().meta({
        description: "Level and number as tlog-tiles writes them, with their slashes.",
        examples: ["0/x001/234"],
      }),
    }),
    answers: { 200: { description: "The hashes.", content: BYTES } },
    problems: [...PUBLIC_PROBLEMS, "not_found"],
  },
  {
    id: "get_log_proof",
    method: "get",
    path: `${paths.logProof}/{index}`,
    tag: "Log",
    summary: "Get an entry with its proof",
    description: `A \`.tlog-proof\` file (C2SP tlog-proof), whose extra data is the entry: \`market-signal verify\` checks it offline.`,
    access: { scopes: ["signals:read"], isPublicInSandbox: true },
    limit: { per: "address", name: "visits" },
    allowsAnyOrigin: true,
    pathMembers: z.object({ index: LeafIndex }),
    answers: { 200: { description: "The proof.", content: TEXT, headers: LIMIT_HEADERS } },
    problems: [...PROTECTED_PROBLEMS, "not_found"],
  },
  {
    id: "get_log_consistency",
    method: "get",
    path: paths.logConsistency,
    tag: "Log",
    summary: "Prove that a tree extends an earlier one",
    description: "For who kept an earlier checkpoint (RFC 6962 section 2.1.2).",
    access: "public",
    limit: { per: "address", name: "visits" },
    allowsAnyOrigin: true,
    query: ConsistencyQuery,
    answers: {
      200: jsonResponse("The proof.", LogConsistency),
    },
    problems: [...PUBLIC_PROBLEMS, "invalid_request", "not_found"],
  },
] as const satisfies readonly Operation[];
