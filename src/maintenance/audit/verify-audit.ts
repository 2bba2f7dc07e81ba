import { AUDIT_RETENTION_MS, unsealedAudit } from "../../store/audit-entry.ts";
import type { Archive } from "../../store/port/archive.ts";
import { readRecordPages } from "../../store/port/read-all.ts";
import type { Records } from "../../store/port/records.ts";
import { CheckFailure, failedCheck, type VerificationCheck } from "../../tree/check.ts";
import type { KnownLog } from "../../tree/known-log.ts";
import { isSameHash } from "../../tree/merkle.ts";
import {
  checkSignature,
  knownLogAfter,
  parseCheckpointOrFail,
} from "../../tree/signature-check.ts";
import { treeEdgeOf } from "../../tree/tree-store.ts";
import { TreeWalk } from "../../tree/tree-walk.ts";
import { AuditRows, changedRowMessage } from "./audit-rows.ts";
import { AUDIT_TREE_KEY, type AuditTree, auditTrees } from "./audit-tree.ts";

/** Maximum number of problems with rows that are reported. */
const MAX_PROBLEMS = 100;

/** The result of verifying the audit log. */
export interface AuditReport {
  /** Number of sealed rows that were read. */
  readonly rows: number;
  /** Position of the oldest row; greater than 1 if retention has removed older rows. */
  readonly firstPosition: number | undefined;
  readonly lastPosition: number | undefined;
  /**
   * The newest signed checkpoint. Comparing it with a copy that is kept elsewhere reveals whether
   * the tree was rebuilt.
   */
  readonly checkpoint: string | undefined;
  /** Number of rows that are not sealed yet. Changes to these rows cannot be detected. */
  readonly unsealed: number;
  /**
   * Number of rows that versions before 1.0.0 sealed, apart from the tree. They are counted, and
   * verified by version 1.0.0 alone.
   */
  readonly beforeTree: number;
  /**
   * Problems with the tree, followed by at most 100 problems with rows; empty if there are none.
   */
  readonly problems: readonly string[];
  /** State to keep for the next verification; absent if there are problems or there is no tree. */
  readonly known?: KnownLog;
}

/** Inputs of a verification of the audit log. */
export interface AuditVerification {
  /** State that was kept from the last verification; absent for the first verification. */
  readonly known?: KnownLog | undefined;
  /** The verifier's clock, in milliseconds since the epoch. */
  readonly now: () => number;
  /** Called with the number of rows read so far and the approximate total. */
  readonly onProgress?: (done: number, total: number) => void;
}

/**
 * Reads all sealed audit rows and reports rows that were changed, removed, inserted or reordered.
 * They are verified as leaves of the tree, like the entries of the signal log. A server may write
 * to the store during the verification.
 *
 * Anyone who can write the whole store and has its keys, such as the operator, can also rebuild the
 * tree. Only state that was kept elsewhere (`known`) reveals this.
 */
export async function verifyAudit(
  { records, archive }: { readonly records: Records; readonly archive: Archive },
  { known, now, onProgress = () => undefined }: AuditVerification,
): Promise<AuditReport> {
  const found: string[] = [];
  const report = (problem: string) => {
    if (found.length < MAX_PROBLEMS) found.push(problem);
  };
  const tree = (await records.get(auditTrees, AUDIT_TREE_KEY))?.value;
  const rows = new AuditRows({ records, archive, tree, report, onProgress });
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

/** Problems found in a tree, and the state to keep if there are none. */
interface VerifiedTree {
  readonly faults: readonly string[];
  readonly after?: KnownLog;
}

/** Verifies the audit tree in the same way as the tree of the signal log. */
async function verifyTree(
  tree: AuditTree,
  { rows, known, now, report }: TreeVerification,
): Promise<VerifiedTree> {
  const faultOf = ({ name, entry, detail }: VerificationCheck) => {
    const from = entry === undefined ? "" : `, from row ${tree.first + entry} on`;
    return `The ${name} of the audit log${from}: ${detail}.`;
  };
  try {
    const checkpoint = parseCheckpointOrFail(tree.checkpoint);
    const keys = known?.keys ?? tree.keys;
    const walk = new TreeWalk(rows, checkpoint, known?.sightings ?? []);
    const onOther = (index: number) => report(changedRowMessage(tree.first + index));
    const checks = [
      checkSignature(checkpoint, { keys: [], known }, keys),
      ...(await walk.run({ onOther })),
    ];
    const faults = checks.filter(({ outcome }) => outcome === "failed").map(faultOf);
    if (faults.length > 0) return { faults };
    const edge = treeEdgeOf(tree);
    const isSigned = edge.size === checkpoint.size && isSameHash(edge.root(), checkpoint.root);
    if (!isSigned || tree.last !== tree.first + edge.size - 1) {
      throw new CheckFailure("its record is not of the tree that was signed");
    }
    checkRetention(tree, rows.pruned, { known, now });
    const seen = { known, keys, published: tree.keys, seenAt: now() };
    return { faults, after: knownLogAfter(checkpoint, seen) };
  } catch (error) {
    // `treeEdgeOf` throws a `RangeError` if the stored hashes are malformed.
    const failure = error instanceof RangeError ? new CheckFailure(error.message) : error;
    return { faults: [faultOf(failedCheck("tree", failure))] };
  }
}

/**
 * Checks that retention has removed no row too early.
 *
 * @throws {CheckFailure} If a removed row is one that an earlier verification saw within the
 * retention period.
 */
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

/** Counts the audit rows that are not sealed yet. */
async function countUnsealed(records: Records): Promise<number> {
  let unsealed = 0;
  for await (const page of readRecordPages(records, unsealedAudit)) unsealed += page.length;
  return unsealed;
}
