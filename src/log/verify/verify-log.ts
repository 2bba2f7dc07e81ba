import { CheckFailure, failedCheck, type VerificationCheck } from "../../tree/check.ts";
import type { SignedCheckpoint } from "../../tree/checkpoint.ts";
import type { CheckpointSighting, KnownLog } from "../../tree/known-log.ts";
import { type Hash, leafHash, verifyInclusion } from "../../tree/merkle.ts";
import {
  checkSignature,
  type KeyTrust,
  knownLogAfter,
  parseCheckpointOrFail,
  parseVerifierOrFail,
} from "../../tree/signature-check.ts";
import { parseProof } from "../../tree/tlog-proof.ts";
import {
  createTreeReader,
  type LogSource,
  MAX_TEXT_BYTES,
  readText,
} from "../../tree/tree-source.ts";
import { TreeWalk } from "../../tree/tree-walk.ts";
import type { SettlementMarket } from "../outcomes.ts";
import type { WitnessPolicy } from "../witness/policy.ts";
import { type VerifiedClaim, verifiedClaim } from "./claim-check.ts";
import { EntryVerifier } from "./entry-verifier.ts";
import { NO_PRICES_CHECK, PriceCheck } from "./price-check.ts";
import { checkScores, type FetchFactorsOpening } from "./score-check.ts";
import { checkSuccession } from "./succession-check.ts";
import { checkTrackRecord } from "./track-record-check.ts";
import type { VerifiedTrackRecord } from "./verified-records.ts";
import { checkCosignatures, type WitnessCheckInput, witnessViewOf } from "./witness-check.ts";

/** Keys, earlier observations and witnesses that a log is verified against. */
interface VerificationTrust extends KeyTrust {
  /** Policy with the trusted witnesses; without it, cosignatures are ignored. */
  readonly policy?: WitnessPolicy | undefined;
}

/** Options of `verifyLog`. */
export interface LogVerificationOptions extends VerificationTrust {
  readonly source: LogSource;
  /** Clock of the verifier, Unix milliseconds. */
  readonly now: () => number;
  /** Fetches a URL of a witness; without it, witnesses are not asked. */
  readonly ask?: WitnessCheckInput["ask"];
  /** Prices from which outcomes are recomputed; without them, outcomes are not recomputed. */
  readonly prices?: SettlementMarket | undefined;
  /** Opens the factors of entries; without it, scores are not recomputed. */
  readonly openFactors?: FetchFactorsOpening | undefined;
  /** Fetches the track record of the service; without it, the record is not compared. */
  readonly trackRecord?: (() => Promise<unknown>) | undefined;
  /** Called with the number of entries read so far, and the number of all entries. */
  readonly onProgress?: (done: number, total: number) => void;
}

/** The result of a verification. */
export interface VerificationResult {
  readonly origin: string | undefined;
  readonly size: number | undefined;
  readonly checks: readonly VerificationCheck[];
  /** The track record computed from the entries alone; absent if only one entry was verified. */
  readonly records?: readonly VerifiedTrackRecord[];
  /** The claims of the log with their figures; absent like `records`. */
  readonly claims?: readonly VerifiedClaim[];
  /** State to store for the next verification; absent if a check failed. */
  readonly known?: KnownLog;
}

/**
 * Verifies a whole log: its signature, its tree, earlier observations of the log, and its entries.
 */
export async function verifyLog(options: LogVerificationOptions): Promise<VerificationResult> {
  const { source, known, now, onProgress = () => undefined } = options;
  let checkpoint: SignedCheckpoint;
  let keys: readonly string[];
  // The track record is fetched before the checkpoint, so that the checkpoint covers all entries of
  // the record.
  const answered = await options.trackRecord?.();
  try {
    checkpoint = parseCheckpointOrFail(await readText(source, "checkpoint"));
    keys = known?.keys ?? (options.keys.length > 0 ? options.keys : await publishedKeys(source));
  } catch (error) {
    const checks = [failedCheck("checkpoint", error)];
    return { origin: undefined, size: undefined, checks };
  }
  const { origin, size } = checkpoint;
  const { policy } = options;
  const signature = checkSignature(checkpoint, options, keys);
  const view = await witnessViewOf({
    checkpoint,
    policy,
    keys: signature.outcome === "failed" ? [] : keys.map(parseVerifierOrFail),
    now: now(),
    ask: options.ask,
  });
  const former = known?.origin === origin ? undefined : known;
  const own = former === undefined ? (known?.sightings ?? []) : [];
  const sightings = inOrder([...own, ...view.sightings]);
  const dated = view.quorum === undefined ? sightings : inOrder([...sightings, view.quorum]);
  const prices = options.prices && new PriceCheck(options.prices);
  const entries = new EntryVerifier({
    origin,
    sightings: dated,
    policy,
    onSettled: (settlement) => prices?.add(settlement),
  });
  const walk = new TreeWalk(createTreeReader(source), checkpoint, sightings);
  const onEntry = (entry: string | undefined, rootBefore: () => Hash) =>
    entries.add(entry, rootBefore);
  const tree = await walk.run({ onEntry, onProgress, onPause: async () => prices?.compare() });
  const outcomes = prices?.check() ?? NO_PRICES_CHECK;
  const records = entries.records(size);
  const claims = [...entries.claims].map(([methodHash, { terms }]) =>
    verifiedClaim(methodHash, terms, records),
  );
  const record = checkTrackRecord(entries, size, answered);
  const scores = await checkScores(entries.recentSignals, entries.signals, options.openFactors);
  const ofTree =
    former === undefined
      ? tree
      : [
          ...tree.filter(({ name }) => name !== "history"),
          checkSuccession(former, entries.replaces),
        ];
  const checks = [
    ...[signature, view.check, ...ofTree, ...entries.checks()],
    ...[scores, outcomes, record],
  ];
  const verified = { origin, size, checks, records, claims };
  if (checks.some(({ outcome }) => outcome === "failed")) return verified;
  const published =
    (await source.read("keys", MAX_TEXT_BYTES)) === undefined ? [] : await publishedKeys(source);
  const after = knownLogAfter(checkpoint, { known, keys, published, seenAt: now() });
  return { ...verified, known: after };
}

const inOrder = (sightings: readonly CheckpointSighting[]): readonly CheckpointSighting[] =>
  sightings.toSorted((a, b) => a.size - b.size || a.seenAt - b.seenAt);

/** Verifies one entry with its proof, without network access. */
export function verifyProofFile(text: string, trust: VerificationTrust): VerificationResult {
  let proof: ReturnType<typeof parseProof>;
  try {
    proof = parseProof(text);
  } catch (error) {
    const checks = [failedCheck("proof", new CheckFailure((error as Error).message))];
    return { origin: undefined, size: undefined, checks };
  }
  const { index, signed, extra } = proof;
  const { origin, size, root } = signed;
  const keys = trust.known?.keys ?? trust.keys;
  const leaf = extra && leafHash(extra);
  const isIncluded =
    leaf !== undefined && verifyInclusion({ index, size, leaf, root, proof: proof.proof });
  const inclusion: VerificationCheck = isIncluded
    ? { name: "inclusion", outcome: "proved", detail: `entry ${index} is in the tree of ${size}` }
    : {
        name: "inclusion",
        outcome: "failed",
        entry: index,
        detail: `entry ${index} is not in the tree of the checkpoint`,
      };
  const checks = [
    checkSignature(signed, trust, keys),
    checkCosignatures(signed, trust.policy).check,
    inclusion,
    checkSightingOf(signed, trust.known),
  ];
  return { origin, size, checks };
}

async function publishedKeys(source: LogSource): Promise<readonly string[]> {
  const text = await readText(source, "keys");
  return text.split("\n").filter((line) => line !== "");
}

/** Compares the checkpoint of a proof with an earlier checkpoint of the same size. */
function checkSightingOf(
  { size, root }: SignedCheckpoint,
  known: KnownLog | undefined,
): VerificationCheck {
  const name = "history";
  const seen = known?.sightings.find((one) => one.size === size);
  if (seen === undefined) {
    const detail = "no checkpoint of this size was seen; verify the log itself with --state";
    return { name, outcome: "not_proved", detail };
  }
  return seen.root === Buffer.from(root).toString("base64")
    ? { name, outcome: "proved", detail: "the checkpoint is one that was seen" }
    : { name, outcome: "failed", detail: `another root was seen for ${size} entries` };
}
