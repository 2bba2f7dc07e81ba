import { parseJson } from "../../lib/json.ts";
import type { DumpRow, Store } from "../../store/port/store.ts";
import { isStoreFault, operatorErrorText } from "../../store/port/unavailable.ts";
import { type AuditReport, type AuditVerification, verifyAudit } from "../audit/verify-audit.ts";
import { completedFraction, type OnCommandProgress } from "./progress.ts";

/** Maximum number of problems with rows that are reported. */
const MAX_PROBLEMS = 100;

/** Result of verifying a store. */
interface VerifyReport {
  /** Number of records by collection. */
  readonly records: Readonly<Record<string, number>>;
  /** Number of archive rows by kind. */
  readonly archive: Readonly<Record<string, number>>;
  readonly audit: AuditReport;
  /** Problems with files, rows and the audit log; empty if there are none. */
  readonly problems: readonly string[];
}

/**
 * Checks the files of a store (if the store has files), reads every row and the whole audit log,
 * and reports problems. If one part cannot be read, this is reported as a problem, and the other
 * parts are still read. A server may write to the store during the check.
 */
export async function verifyStore(
  store: Store,
  look: Omit<AuditVerification, "onProgress">,
  onProgress: OnCommandProgress,
): Promise<VerifyReport> {
  const faults = canCheck(store) ? [...(await store.check())] : [];
  const rows = await readRows(store, onProgress);
  const audit = await readAudit(store, look, onProgress);
  const { records, archive, problems } = rows;
  return {
    records: sorted(records),
    archive: sorted(archive),
    audit,
    problems: [...faults, ...problems, ...audit.problems],
  };
}

/** Whether a store is in files, which can have damage that reading rows does not reveal. */
const canCheck = (store: Store): store is Store & { check(): Promise<readonly string[]> } =>
  "check" in store;

/**
 * Verifies the audit log. If the log cannot be read, the report contains one problem and no rows.
 */
async function readAudit(
  store: Store,
  look: Omit<AuditVerification, "onProgress">,
  onProgress: OnCommandProgress,
): Promise<AuditReport> {
  try {
    return await verifyAudit(store, {
      ...look,
      onProgress: (done, total) => {
        const fraction = completedFraction(done, total);
        onProgress({ doing: "checking the audit rows", rows: done, fraction });
      },
    });
  } catch (error) {
    const problems = [unread("The audit log", error)];
    const none = { firstPosition: undefined, lastPosition: undefined, checkpoint: undefined };
    return { rows: 0, ...none, unsealed: 0, beforeTree: 0, problems };
  }
}

/**
 * Describes a part of the store that could not be read.
 *
 * @throws The given error, unless it means that the store was unavailable.
 */
function unread(what: string, error: unknown): string {
  if (!isStoreFault(error)) throw error;
  return `${what} could not be read to the end: ${operatorErrorText(error)}`;
}

interface RowsRead {
  readonly records: Map<string, number>;
  readonly archive: Map<string, number>;
  readonly problems: string[];
}

async function readRows(store: Store, onProgress: OnCommandProgress): Promise<RowsRead> {
  const read: RowsRead = { records: new Map(), archive: new Map(), problems: [] };
  try {
    await readInto(read, store, onProgress);
  } catch (error) {
    read.problems.push(unread("The rows", error));
  }
  return read;
}

async function readInto(
  read: RowsRead,
  store: Store,
  onProgress: OnCommandProgress,
): Promise<void> {
  const counts = await store.counts();
  const total = counts.records + counts.archive;
  let rows = 0;
  let revision = 0;
  for await (const batch of store.dump()) {
    for (const row of batch) {
      const problem = rowProblem(row, revision);
      if (problem !== undefined && read.problems.length < MAX_PROBLEMS) read.problems.push(problem);
      revision = row.table === "record" ? row.revision : revision;
      count(read, row);
    }
    rows += batch.length;
    onProgress({ doing: "reading the rows", rows, fraction: completedFraction(rows, total) });
  }
}

/**
 * Describes what is wrong with a row; `undefined` if the row is valid.
 *
 * @param after Revision of the preceding record, which must be lower.
 */
function rowProblem(row: DumpRow, after: number): string | undefined {
  const name =
    row.table === "record"
      ? `Record ${JSON.stringify(row.key)} of ${row.collection}`
      : `Archive row ${row.kind} ${row.id}`;
  if (parseJson(row.text) === undefined) return `${name} is not JSON.`;
  const isLate = row.table === "record" && row.revision <= after;
  return isLate ? `${name} has the revision ${row.revision}, after ${after}.` : undefined;
}

function count({ records, archive }: RowsRead, row: DumpRow): void {
  const [counts, name] = row.table === "record" ? [records, row.collection] : [archive, row.kind];
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function sorted(counts: ReadonlyMap<string, number>): Readonly<Record<string, number>> {
  return Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}
