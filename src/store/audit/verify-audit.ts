import { isSameHash } from "../../log/merkle.ts";
import { edgeOf } from "../../log/tree-store.ts";
import { type Check, CheckFailure, failedCheck } from "../../log/verify/check.ts";
import type { KnownLog } from "../../log/verify/known-log.ts";
import { checkSignature, knownAfter, readCheckpoint } from "../../log/verify/signature-check.ts";
import { TreeWalk } from "../../log/verify/tree-walk.ts";
import type { Archive } from "../port/archive.ts";
import { recordPages } from "../port/read-all.ts";
import type { Records } from "../port/records.ts";
import { AUDIT_RETENTION_MS } from "../retention.ts";
import { AuditRows, changedRowMessage } from "./audit-rows.ts";
import { type AuditTree, auditTrees, TREE } from "./audit-tree.ts";
import { unsealedAudit } from "./entry.ts";
import { CHAIN_START, HEAD_KEY, sealedPoints } from "./hash-chain.ts";

/** Maximum number of row problems reported. */
const MAX_PROBLEMS = 100;

/** The result of verifying the audit log. */
export interface AuditReport {
  /** Sealed rows that were read. */
  readonly rows: number;
  /** Position of the oldest row; above 1 if retention has removed older ones. */
  readonly firstPosition: number | undefined;
  readonly lastPosition: number | undefined;
  /** The newest signed checkpoint. A copy kept elsewhere reveals a tree that was rebuilt. */
  readonly checkpoint: string | undefined;
  /** Rows that are not sealed yet; changes to these cannot be detected. */
  readonly unsealed: number;
  /** Problems of the tree, then at most 100 of rows; empty if there are none. */
  readonly problems: readonly string[];
  /** State to keep for the next verification; absent if there are problems, or no tree. */
  readonly known?: KnownLog;
}

/** How to verify the audit log. */
export interface AuditVerification {
  /** State kept from the last verification; absent for the first. */
  readonly known?: KnownLog | undefined;
  /** Clock of the verifier, in milliseconds since the epoch. */
  readonly now: () => number;
  /** Called with how many rows were read, and about how many there are. */
  readonly onProgress?: (done: number, total: number) => void;
}

/**
 * Reads all sealed audit rows and reports what was changed, removed, inserted or reordered: rows of
 * earlier versions by their hash chain, and all others as leaves of the tree, like the entries of
 * the signal log. A server may be writing meanwhile.
 *
 * Whoever can write the whole store and has its keys, as its operator can, can also rebuild the tree;
 * only what was kept elsewhere (`known`) reveals that.
 */
export async function verifyAudit(
  { records, archive }: { readonly records: Records; readonly archive: Archive },
  { known, now, onProgress = () => undefined }: AuditVerification,
): Promise<AuditReport> {
  const found: string[] = [];
  const report = (problem: string) => {
    if (found.length < MAX_PROBLEMS) found.push(problem);
  };
  const tree = (await records.get(auditTrees, TREE))?.value;
  const head = (await records.get(sealedPoints, HEAD_KEY))?.value ?? CHAIN_START;
  const rows = new AuditRows({ records, archive, tree, head, report, onProgress });
  const { faults, after } = tree
    ? await verifyTree(tree, { rows, known, now, report })
    : { faults: known ? [`The audit log ${known.origin} that was seen is gone.`] : [] };
  await rows.end();
  const problems = [...faults, ...found];
  return {
    ...rows.counts,
    checkpoint: tree?.checkpoint,
    unsealed: await countUnsealed(records),
    problems,
    ...(after && problems.length === 0 && { known: after }),
  };
}

/** Input of `verifyTree`. */
interface TreeVerification extends Pick<AuditVerification, "known" | "now"> {
  readonly rows: AuditRows;
  readonly report: (problem: string) => void;
}

/** Problems of a tree, and the state to keep if there are none. */
interface VerifiedTree {
  readonly faults: readonly string[];
  readonly after?: KnownLog;
}

/** Verifies the tree in the same way as that of the signal log. */
async function verifyTree(
  tree: AuditTree,
  { rows, known, now, report }: TreeVerification,
): Promise<VerifiedTree> {
  const faultOf = ({ name, entry, detail }: Check) => {
    const from = entry === undefined ? "" : `, from row ${tree.first + entry} on`;
    return `The ${name} of the audit log${from}: ${detail}.`;
  };
  try {
    const checkpoint = readCheckpoint(tree.checkpoint);
    const keys = known?.keys ?? tree.keys;
    const walk = new TreeWalk(rows, checkpoint, known?.sightings ?? []);
    const onOther = (index: number) => report(changedRowMessage(tree.first + index));
    const checks = [
      checkSignature(checkpoint, { keys: [], known }, keys),
      ...(await walk.run({ onOther })),
    ];
    const faults = checks.filter(({ outcome }) => outcome === "failed").map(faultOf);
    if (faults.length > 0) return { faults };
    const edge = edgeOf(tree);
    const isSigned = edge.size === checkpoint.size && isSameHash(edge.root(), checkpoint.root);
    if (!isSigned || tree.last !== tree.first + edge.size - 1) {
      throw new CheckFailure("its record is not of the tree that was signed");
    }
    checkRetention(tree, rows.pruned, { known, now });
    const seen = { known, keys, published: tree.keys, seenAt: now() };
    return { faults, after: knownAfter(checkpoint, seen) };
  } catch (error) {
    // `edgeOf` throws a `RangeError` if the stored hashes are malformed.
    const failure = error instanceof RangeError ? new CheckFailure(error.message) : error;
    return { faults: [faultOf(failedCheck("tree", failure))] };
  }
}

/** @throws {CheckFailure} If a row was removed before its retention ended: a verification within
 *  that time has seen it. */
function checkRetention(
  { first }: AuditTree,
  pruned: number,
  { known, now }: Pick<AuditVerification, "known" | "now">,
): void {
  const since = now() - AUDIT_RETENTION_MS;
  const seen = known?.sightings.find(({ seenAt }) => seenAt > since);
  if (seen === undefined || pruned < first + seen.size) return;
  throw new CheckFailure("rows were removed before their time", seen.size);
}

/** Number of rows that are not sealed yet. */
async function countUnsealed(records: Records): Promise<number> {
  let unsealed = 0;
  for await (const page of recordPages(records, unsealedAudit)) unsealed += page.length;
  return unsealed;
}
