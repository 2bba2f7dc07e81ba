import type { Archive, ArchiveRow } from "../port/archive.ts";
import type { Records, Stored } from "../port/records.ts";
import {
  CHAIN_START,
  type ChainPoint,
  chainPointOf,
  chainPoints,
  HEAD,
  isUnchanged,
  PRUNED,
  type SealedEntry,
  sealedEntry,
} from "./chain.ts";
import { AUDIT_KIND, unsealedAudit } from "./entry.ts";

/** Rows per page. */
const PAGE = 1_000;

/** The result of verifying the chain. */
export interface AuditReport {
  /** Chained rows that were read. */
  readonly rows: number;
  /** Position of the oldest row; above 1 if retention has removed older ones. */
  readonly firstPosition: number | undefined;
  readonly lastPosition: number | undefined;
  /** Hash of the newest row. A copy kept elsewhere reveals a recomputed chain. */
  readonly lastHash: string | undefined;
  /** Rows that are not chained yet; changes to these cannot be detected. */
  readonly unsealed: number;
  /** Problems in archive order, at most 100; empty if there are none. */
  readonly problems: readonly string[];
}

/**
 * Reads the whole audit chain and reports rows that were changed, removed, inserted or reordered. A
 * server may be writing meanwhile.
 *
 * It detects partial changes. Anybody who can write the whole store, as its operator can, can also
 * recompute the chain and its head, which nothing in the store reveals.
 *
 * @param onProgress Called with how many rows were read, and about how many there are.
 */
export async function verifyAudit(
  { records, archive }: { readonly records: Records; readonly archive: Archive },
  onProgress?: (done: number, total: number) => void,
): Promise<AuditReport> {
  const point = async (key: string) => (await records.get(chainPoints, key))?.value ?? CHAIN_START;
  const head = await point(HEAD);
  const progress = newProgress(head, await point(PRUNED));
  const total = head.position - progress.pruned.position;
  const pages = paged<ArchiveRow>((after) =>
    archive.read(AUDIT_KIND, { order: "oldest", limit: PAGE, ...(after && { after }) }),
  );
  for await (const page of pages) {
    // Retention may run concurrently; it records what it removes beforehand.
    progress.pruned = await point(PRUNED);
    for (const row of page) checkRow(progress, row);
    onProgress?.(progress.rows, Math.max(progress.rows, total));
  }
  checkEnd(progress, await point(HEAD));
  return { ...reported(progress), unsealed: await countUnsealed(records) };
}

/** Number of rows that are not chained yet. */
async function countUnsealed(records: Records): Promise<number> {
  let unsealed = 0;
  const pages = paged<Stored<ArchiveRow>>((last) =>
    records.list(unsealedAudit, { after: last?.revision ?? 0, limit: PAGE }),
  );
  for await (const page of pages) unsealed += page.length;
  return unsealed;
}

/**
 * Reads until a page is not full, so that concurrent writes do not extend it endlessly.
 *
 * @param read Reads the page after a row.
 */
async function* paged<T>(
  read: (last: T | undefined) => Promise<readonly T[]>,
): AsyncIterable<readonly T[]> {
  let page: readonly T[] = [];
  do {
    page = await read(page.at(-1));
    yield page;
  } while (page.length === PAGE);
}

function reported({
  rows,
  firstPosition,
  last,
  problems,
}: Progress): Omit<AuditReport, "unsealed"> {
  const { position, hash } = rows === 0 ? ({} as Partial<ChainPoint>) : last;
  return { rows, firstPosition, lastPosition: position, lastHash: hash, problems };
}

/** Maximum number of problems reported. */
const MAX_PROBLEMS = 100;

/** How far the verification has come, and what it found. */
interface Progress {
  /** The newest row at the beginning. */
  readonly head: ChainPoint;
  /** The newest row that retention has removed so far. */
  pruned: ChainPoint;
  /** The last row that is in its place. */
  last: ChainPoint;
  firstPosition: number | undefined;
  rows: number;
  readonly problems: string[];
}

/** Starts before the first row. */
function newProgress(head: ChainPoint, pruned: ChainPoint): Progress {
  return { head, pruned, last: CHAIN_START, firstPosition: undefined, rows: 0, problems: [] };
}

/** Checks the next row of the archive against its predecessors. */
function checkRow(progress: Progress, row: ArchiveRow): void {
  const entry = sealedEntry(row);
  if (entry === undefined) {
    addProblem(progress, `Row "${row.id}" was inserted: it has no place in the chain.`);
    return;
  }
  progress.rows += 1;
  progress.firstPosition ??= entry.position;
  const isNext = entry.position === progress.last.position + 1;
  if (!isUnchanged(row)) {
    addProblem(progress, `Row ${entry.position} was changed: it does not fit its hash.`);
    if (!isNext) return;
  }
  if (entry.position <= progress.last.position) {
    addProblem(progress, `Row ${entry.position} stands after row ${progress.last.position}.`);
    return;
  }
  addProblem(progress, brokenLink(progress, entry));
  addProblem(progress, anotherHash(progress, entry));
  progress.last = chainPointOf(row);
}

/**
 * A fault between a row and the last one. Rows that retention removed may be missing; if it was
 * interrupted, some of them remain, and the predecessor of the first of these is unknown.
 */
function brokenLink({ last, pruned }: Progress, entry: SealedEntry): string | undefined {
  const { position, previousHash } = entry;
  const hasGap = last.position < position - 1;
  if (hasGap && position <= pruned.position) return undefined;
  const previous = hasGap && last.position < pruned.position ? pruned : last;
  if (previous.position < position - 1) {
    return `${missing(previous.position + 1, position - 1)}.`;
  }
  if (previous.hash === previousHash) return undefined;
  return `Row ${position} does not follow from row ${position - 1}: one of them was replaced.`;
}

/** Recorded chain points contain the hash of their row. */
function anotherHash(
  { head, pruned }: Progress,
  { position, hash }: SealedEntry,
): string | undefined {
  const isOther = [head, pruned].some(
    (noted) => noted.position === position && noted.hash !== hash,
  );
  return isOther ? `Row ${position} was replaced: another hash was noted for it.` : undefined;
}

/**
 * Checks the end against the recorded head.
 *
 * @param newest The current head; rows may have been added since the beginning.
 */
function checkEnd(progress: Progress, newest: ChainPoint): void {
  const { head, last, pruned } = progress;
  const end = Math.max(last.position, pruned.position);
  if (end < head.position) addProblem(progress, `${missing(end + 1, head.position)} at the end.`);
  if (end <= newest.position) return;
  addProblem(
    progress,
    `The chain goes on to row ${end}, but row ${newest.position} was noted as its end.`,
  );
}

function missing(from: number, to: number): string {
  return from === to ? `Row ${from} is missing` : `Rows ${from} to ${to} are missing`;
}

function addProblem({ problems }: Progress, problem: string | undefined): void {
  if (problem !== undefined && problems.length < MAX_PROBLEMS) problems.push(problem);
}
