import { createHash, type Hash } from "node:crypto";
import type { DumpRow } from "../../store/port/store.ts";

/** Summary of a collection or an archive kind. */
export interface RowsDigest {
  readonly rows: number;
  /** SHA-256 of the rows in order, in hexadecimal. Equal digests mean equal contents. */
  readonly sha256: string;
}

/**
 * Computes the digests of a dump.
 *
 * @returns The digests by `record/<collection>` and `archive/<kind>`, in alphabetical order.
 */
export async function digestDump(
  batches: AsyncIterable<readonly DumpRow[]>,
): Promise<ReadonlyMap<string, RowsDigest>> {
  const sums = new Map<string, { rows: number; readonly hash: Hash }>();
  for await (const batch of batches) {
    for (const row of batch) {
      const name = nameOf(row);
      const sum = sums.get(name) ?? { rows: 0, hash: createHash("sha256") };
      sum.rows += 1;
      sum.hash.update(`${JSON.stringify(contentOf(row))}\n`);
      sums.set(name, sum);
    }
  }
  const names = [...sums].sort(([a], [b]) => (a < b ? -1 : 1));
  return new Map(
    names.map(([name, { rows, hash }]) => [name, { rows, sha256: hash.digest("hex") }]),
  );
}

const nameOf = (row: DumpRow) =>
  row.table === "record" ? `record/${row.collection}` : `archive/${row.kind}`;

function contentOf(row: DumpRow): readonly unknown[] {
  if (row.table === "archive") return [row.at, row.id, row.subject, row.text];
  const { key, text, revision, groups, expiresAt, dueAt, consumedAt } = row;
  return [key, text, revision, groups, expiresAt, dueAt, consumedAt];
}
