import { parseCheckpoint, type SignedCheckpoint } from "../checkpoint.ts";
import { type Hash, leafHash, verifyInclusion } from "../merkle.ts";
import { type NoteVerifier, parseVerifier, verifyNote } from "../signed-note.ts";
import { parseProof } from "../tlog-proof.ts";
import type { Policy } from "../witness/policy.ts";
import { type Check, CheckFailure, failedCheck } from "./check.ts";
import { type KnownLog, type Sighting, withSighting } from "./known-log.ts";
import { LeafJudge } from "./leaf-judge.ts";
import { type LogSource, readText } from "./source.ts";
import { TreeWalk } from "./tree-walk.ts";
import { checkCosignatures, viewOfWitnesses, type WitnessQuestion } from "./witness-check.ts";

/** What a log is verified against. */
export interface Trust {
  /** Verifier keys that the caller knows from elsewhere (C2SP signed-note). */
  readonly keys: readonly string[];
  /** What was kept of the log at earlier looks. */
  readonly known: KnownLog | undefined;
  /** Witnesses whose cosignatures count; absent: none. */
  readonly policy?: Policy | undefined;
}

/** How to verify a log. */
export interface VerifyOptions extends Trust {
  readonly source: LogSource;
  /** Clock of the verifier, Unix milliseconds. */
  readonly now: () => number;
  /** Called with how many entries were read, and how many there are. */
  /** Reads an address of a witness; absent: witnesses are not asked. */
  readonly ask?: WitnessQuestion["ask"];
  readonly onProgress?: (done: number, total: number) => void;
}

/** What came of it. */
export interface Verified {
  readonly origin: string | undefined;
  readonly size: number | undefined;
  readonly checks: readonly Check[];
  /** To be kept for the next look; absent where something failed. */
  readonly known?: KnownLog;
}

const NOT_RECOMPUTED: readonly Check[] = [
  {
    name: "scores",
    outcome: "not_proved",
    detail: "not recomputed: the factors are committed to, not told",
  },
  { name: "outcomes", outcome: "not_proved", detail: "none are logged" },
];

/** Verifies a whole log: its signature, its tree, what was seen of it before, and what its entries say. */
export async function verifyLog(options: VerifyOptions): Promise<Verified> {
  const { source, known, now, onProgress = () => undefined } = options;
  let checkpoint: SignedCheckpoint;
  let keys: readonly string[];
  try {
    checkpoint = readCheckpoint(await readText(source, "checkpoint"));
    keys = known?.keys ?? (options.keys.length > 0 ? options.keys : await publishedKeys(source));
  } catch (error) {
    const checks = [failedCheck("checkpoint", error)];
    return { origin: undefined, size: undefined, checks };
  }
  const { origin, size } = checkpoint;
  const { policy } = options;
  const signature = checkSignature(checkpoint, options, keys);
  const view = await viewOfWitnesses({
    checkpoint,
    policy,
    keys: signature.outcome === "failed" ? [] : keys.map(readVerifier),
    now: now(),
    ask: options.ask,
  });
  const sightings = inOrder([...(known?.sightings ?? []), ...view.sightings]);
  const dated = view.quorum === undefined ? sightings : inOrder([...sightings, view.quorum]);
  const judge = new LeafJudge({ origin, sightings: dated, policy });
  const walk = new TreeWalk(source, checkpoint, sightings);
  const onEntry = (entry: string | undefined, rootBefore: () => Hash) =>
    judge.add(entry, rootBefore);
  const tree = await walk.run({ onEntry, onProgress });
  const checks = [signature, view.check, ...tree, ...judge.checks(), ...NOT_RECOMPUTED];
  if (checks.some(({ outcome }) => outcome === "failed")) return { origin, size, checks };
  const root = Buffer.from(checkpoint.root).toString("base64");
  const sighting = { size, root, seenAt: now() };
  const seen = { origin, keys: await keysAfter(checkpoint, source, keys) };
  return { origin, size, checks, known: withSighting(known, seen, sighting) };
}

const inOrder = (sightings: readonly Sighting[]): readonly Sighting[] =>
  sightings.toSorted((a, b) => a.size - b.size || a.seenAt - b.seenAt);

/** Verifies one entry with its proof, offline. */
export function verifyProofFile(text: string, trust: Trust): Verified {
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
  const inclusion: Check = isIncluded
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

/** The checkpoint of a log. @throws {CheckFailure} If it is none. */
function readCheckpoint(text: string): SignedCheckpoint {
  try {
    return parseCheckpoint(text);
  } catch (error) {
    throw new CheckFailure((error as Error).message);
  }
}

async function publishedKeys(source: LogSource): Promise<readonly string[]> {
  const text = await readText(source, "keys");
  return text.split("\n").filter((line) => line !== "");
}

/** The keys to trust from now on: after a rotation the new key signs beside the old one. */
async function keysAfter(
  { note, origin }: SignedCheckpoint,
  source: LogSource,
  keys: readonly string[],
): Promise<string[]> {
  const published = (await source.read("keys")) === undefined ? [] : await publishedKeys(source);
  const signing = published.filter((text) => {
    const { keyId } = readVerifier(text);
    const hasSigned = note.signatures.some((one) => one.name === origin && one.keyId === keyId);
    return hasSigned && signedBy(note, [readVerifier(text)], origin).length > 0;
  });
  return [...new Set([...keys, ...signing])];
}

function checkSignature(
  { origin, note }: SignedCheckpoint,
  { keys: pinned, known }: Trust,
  keys: readonly string[],
): Check {
  const name = "signature";
  try {
    if (known !== undefined && known.origin !== origin) {
      throw new CheckFailure(`the log is ${origin}, and ${known.origin} was seen before`);
    }
    if (keys.length === 0) {
      return { name, outcome: "not_proved", detail: "give the key of the log with --key" };
    }
    const [key] = signedBy(note, keys.map(readVerifier), origin);
    if (pinned.length > 0) signedBy(note, pinned.map(readVerifier), origin);
    if (pinned.length > 0 || known !== undefined) {
      const from = pinned.length > 0 ? "that was given" : "of the first look";
      return { name, outcome: "proved", detail: `by the key ${key.keyId} ${from}` };
    }
    const detail = `by the key ${key.keyId}, which only the log itself vouches for (--key, --state)`;
    return { name, outcome: "not_proved", detail };
  } catch (error) {
    return failedCheck(name, error);
  }
}

/** @throws {CheckFailure} If none of the keys has signed, or one of them something else. */
function signedBy(note: SignedCheckpoint["note"], keys: readonly NoteVerifier[], origin: string) {
  try {
    return verifyNote(
      note,
      keys.filter(({ name }) => name === origin),
    );
  } catch (error) {
    throw new CheckFailure((error as Error).message);
  }
}

function readVerifier(text: string): NoteVerifier {
  try {
    return parseVerifier(text);
  } catch (error) {
    throw new CheckFailure((error as Error).message);
  }
}

/** Compares the checkpoint of a proof with one of the same size that was seen. */
function checkSightingOf({ size, root }: SignedCheckpoint, known: KnownLog | undefined): Check {
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
