import type { Archive, ArchiveRow } from "../port/archive.ts";
import type { Records, Stored } from "../port/records.ts";
import { CHAIN_START, type ChainPoint, chainPoints, HEAD, PRUNED } from "./chain.ts";
import { AUDIT_KIND, unsealedAudit } from "./entry.ts";
import { checkEnd, follow, newWalk, type Walk } from "./walk.ts";

/** Rows that are read at once. */
const PAGE = 1_000;

/** What is known about the chain. */
export interface AuditReport {
  /** Chained rows that were read. */
  readonly rows: number;
  /** Position of the oldest row; above 1 when retention has removed older ones. */
  readonly firstPosition: number | undefined;
  readonly lastPosition: number | undefined;
  /** Hash of the newest row. Kept elsewhere, it shows a chain that was computed anew. */
  readonly lastHash: string | undefined;
  /** Rows that wait to be chained; whether somebody changes them does not show yet. */
  readonly unsealed: number;
  /** What is wrong, in the order of the archive, at most 100; empty when nothing is. */
  readonly problems: readonly string[];
}

/**
 * Reads the whole chain of audit rows and says which were changed, removed, inserted or reordered.
 * A server may be writing meanwhile.
 *
 * It shows that somebody changed a part. Whoever can write the whole store, as its operator can,
 * can also compute the chain anew and set its head, and nothing in the store shows that.
 *
 * @param onProgress Told how many rows were read, and about how many there are.
 */
export async function verifyAudit(
  { records, archive }: { readonly records: Records; readonly archive: Archive },
  onProgress?: (done: number, total: number) => void,
): Promise<AuditReport> {
  const point = async (key: string) => (await records.get(chainPoints, key))?.value ?? CHAIN_START;
  const head = await point(HEAD);
  const walk = newWalk(head, await point(PRUNED));
  const total = head.position - walk.pruned.position;
  const pages = paged<ArchiveRow>((after) =>
    archive.read(AUDIT_KIND, { order: "oldest", limit: PAGE, ...(after && { after }) }),
  );
  for await (const page of pages) {
    // Retention may be at work: it notes what it removes before it does.
    walk.pruned = await point(PRUNED);
    for (const row of page) follow(walk, row);
    onProgress?.(walk.rows, Math.max(walk.rows, total));
  }
  checkEnd(walk, await point(HEAD));
  return { ...reported(walk), unsealed: await countUnsealed(records) };
}

/** How many rows have still to be chained. */
async function countUnsealed(records: Records): Promise<number> {
  let unsealed = 0;
  const pages = paged<Stored<ArchiveRow>>((last) =>
    records.list(unsealedAudit, { after: last?.revision ?? 0, limit: PAGE }),
  );
  for await (const page of pages) unsealed += page.length;
  return unsealed;
}

/**
 * Reads until a page is not full; what is written later does not keep it going.
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

function reported({ rows, firstPosition, last, problems }: Walk): Omit<AuditReport, "unsealed"> {
  const { position, hash } = rows === 0 ? ({} as Partial<ChainPoint>) : last;
  return { rows, firstPosition, lastPosition: position, lastHash: hash, problems };
}
