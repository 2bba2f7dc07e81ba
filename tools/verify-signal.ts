import { z } from "zod";
import { isoInstant, Provenance, SymbolInput } from "../src/answers/shared-members.ts";
import { Problem } from "../src/lib/problem.ts";
import { type CommitmentOpening, commitmentHash } from "../src/log/leaves.ts";
import type { LogReader, ProvenEntry } from "../src/log/log-reader.ts";
import { requestedInstant, resolveInstrument } from "../src/tool/lookup.ts";
import { requireSignalLog } from "../src/tool/signal-log.ts";
import { defineTool, type ToolContext, type ToolSignalLog } from "../src/tool/tool.ts";
import { DayOrInstantInput } from "../src/tool/when.ts";
import { parseCheckpoint } from "../src/tree/checkpoint.ts";
import type { Hash } from "../src/tree/merkle.ts";
import { withoutLongSignatures } from "../src/tree/signed-note.ts";

/** Matches the short form of a checkpoint: its size and its root hash in base64. */
const SIZE_AND_ROOT = /^(0|[1-9]\d{0,15}):([A-Za-z0-9+/]{43}=)$/;

const Input = z.strictObject({
  symbol: SymbolInput.optional(),
  asOf: DayOrInstantInput.optional().describe(
    "With symbol: the last logged session by then; default now.",
  ),
  index: z
    .number()
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .optional()
    .describe("Instead of symbol: any entry, such as logged.index of get_signal."),
  knownCheckpoint: z
    .string()
    .max(10_000)
    .optional()
    .describe(
      "Checkpoint that you kept, whole or as <size>:<root>, to learn whether the log still extends it.",
    ),
});

const HashText = z.string();

const Output = z.object({
  index: z.int(),
  market: Provenance.shape.market,
  entry: z.string().describe("What was logged, canonical JSON (RFC 8785)."),
  proof: z.array(HashText).describe("Inclusion of SHA-256(0x00 entry) (RFC 6962 2.1.1), base64."),
  checkpoint: z.string().describe("Signed note: origin, size, root. Keep size and root."),
  keys: z.array(z.string()).describe("Ed25519 keys that sign it (C2SP signed-note)."),
  consistency: z
    .object({
      isExtended: z.boolean().describe("False: the log was rewritten since."),
      proof: z.array(HashText).describe("From the known size to this one (RFC 6962 2.1.2)."),
    })
    .nullable()
    .describe("Null without knownCheckpoint."),
  factors: z
    .object({ salt: z.string(), text: z.string() })
    .nullable()
    .describe(
      "SHA-256(salt text) is factors of the entry; null without factor:read or when not kept.",
    ),
});

/** The tool that returns an entry of the signal log with its inclusion proof. */
export const verifySignal = defineTool({
  name: "verify_signal",
  title: "Verify signal",
  description:
    "Log entry of what was decided on an instrument after a session, with the proofs that a signed checkpoint covers it and extends one that you kept. It proves what was said, not that it was right.",
  scopes: ["signals:read"],
  routes: [{ method: "GET", path: "/api/signals/verify" }],
  input: Input,
  output: Output,

  async run(query, context, { caller }) {
    const log = requireSignalLog(context);
    if (query.index !== undefined && query.symbol !== undefined) {
      throw new Problem("invalid_request", {
        detail: "symbol, index: only one of the two may be given.",
        next: "Leave one out.",
      });
    }
    const index = query.index ?? (await indexOf(query, context, log.reader));
    const proven = await log.reader.prove(index);
    if (proven === undefined) throw await beyond(log.reader, index);
    const { entry, proof, checkpoint } = proven;
    const { knownCheckpoint: known } = query;
    return {
      index,
      market: context.market.mode,
      entry,
      proof: proof.map(base64),
      checkpoint: withoutLongSignatures(checkpoint.note),
      keys: [...log.shortVerifiersOf(checkpoint.origin)],
      consistency: known === undefined ? null : await consistencyWith(known, proven, log.reader),
      factors: caller.scopes.has("factor:read") ? factorsOf(proven, context, log) : null,
    };
  },
});

/**
 * Index of the last logged decision on a symbol.
 *
 * @throws {Problem} `invalid_request` without a symbol, `not_available_then` if no decision was
 * logged by `asOf`.
 */
async function indexOf(
  { symbol, asOf }: Pick<z.output<typeof Input>, "symbol" | "asOf">,
  context: ToolContext,
  reader: LogReader,
): Promise<number> {
  if (symbol === undefined) {
    throw new Problem("invalid_request", {
      detail: "symbol, index: one of the two is needed.",
      next: "Give symbol, or index from logged of get_signal.",
    });
  }
  const instrument = resolveInstrument(symbol, context);
  const at = requestedInstant(asOf, context);
  const run = await reader.runAt(instrument.assetClass, at);
  const position = run?.symbols.indexOf(instrument.symbol) ?? -1;
  if (run !== undefined && position >= 0) return run.index + 1 + position;
  throw new Problem("not_available_then", {
    detail: `No decision on ${instrument.symbol} was logged by ${isoInstant(at)}.`,
    next: "Ask for a later asOf; logged of get_signal is null until the next session is logged.",
  });
}

async function beyond(reader: LogReader, index: number): Promise<Problem> {
  const size = (await reader.checkpoint())?.size ?? 0;
  return new Problem("not_found", {
    detail: `The log has no entry ${index}: its checkpoint covers ${size}.`,
    next: "Use a smaller index, or symbol.",
  });
}

/**
 * Whether the log extends a checkpoint that the client kept, and the consistency proof.
 * @throws {Problem} `invalid_request` for malformed text, for a checkpoint of another log, and for
 * a checkpoint that is larger than this log.
 */
async function consistencyWith(text: string, { checkpoint }: ProvenEntry, reader: LogReader) {
  const known = parseKnown(text);
  if (known.origin !== undefined && known.origin !== checkpoint.origin) {
    throw new Problem("invalid_request", {
      detail: `knownCheckpoint: it is of another log; this one is ${checkpoint.origin}.`,
      next: "Keep it. If this service served that log before, the first entry here names its last checkpoint: compare the two.",
    });
  }
  const proven = await reader.proveConsistency(known.size, checkpoint.size);
  if (proven === undefined) {
    throw new Problem("invalid_request", {
      detail: `knownCheckpoint: the log has ${checkpoint.size} entries, fewer than ${known.size}.`,
      next: "If you kept that checkpoint of this origin, the log was rolled back: keep both as evidence.",
    });
  }
  return { isExtended: base64(proven.fromRoot) === known.root, proof: proven.proof.map(base64) };
}

/** A checkpoint that the client kept from an earlier response. */
interface KnownCheckpoint {
  /** Origin of the log; absent in the short form. */
  readonly origin?: string;
  readonly size: number;
  /** Root hash in base64. */
  readonly root: string;
}

/**
 * Parses a checkpoint in long or short form.
 * @throws {Problem} `invalid_request` for malformed text.
 */
function parseKnown(text: string): KnownCheckpoint {
  const [, size, root] = SIZE_AND_ROOT.exec(text) ?? [];
  if (size !== undefined && root !== undefined) return { size: Number(size), root };
  try {
    const checkpoint = parseCheckpoint(text);
    return {
      origin: checkpoint.origin,
      size: checkpoint.size,
      root: base64(checkpoint.root),
    };
  } catch {
    throw new Problem("invalid_request", {
      detail: "knownCheckpoint: this is neither a checkpoint nor <size>:<root in base64>.",
      next: "Give checkpoint as verify_signal or GET /log/checkpoint answered it.",
    });
  }
}

/** The factors that an entry commits to; `null` if they are no longer stored. */
function factorsOf(
  { entry, checkpoint }: ProvenEntry,
  { snapshots }: ToolContext,
  { committer }: ToolSignalLog,
): CommitmentOpening | null {
  const { kind, symbol, close, factors } = JSON.parse(entry);
  if (kind !== "signal" || typeof factors !== "string") return null;
  const snapshot = snapshots.lastAt(symbol, Date.parse(close));
  const opening = snapshot && committer.openFactors(snapshot, checkpoint.origin);
  return opening !== undefined && commitmentHash(opening) === factors ? opening : null;
}

const base64 = (hash: Hash): string => Buffer.from(hash).toString("base64");
