import { setImmediate } from "node:timers/promises";
import type { Archive, ArchiveRow, ArchiveSelection } from "../port/archive.ts";
import type { DumpRow } from "../port/store.ts";
import { checkStorableName, jsonText, toStorableInstant } from "../port/values.ts";
import type { StoreGate } from "./gate.ts";
import type { GroupCommit } from "./group-commit.ts";
import { damagedRowProblem } from "./sqlite-errors.ts";
import { checksumOf, type SqlValue, type StoreFile } from "./store-file.ts";

/** An archive row in a dump. */
export type ArchiveDumpRow = Extract<DumpRow, { table: "archive" }>;

/**
 * Maximum number of rows deleted per transaction. The event loop can run other work between
 * transactions.
 */
const PRUNE_ROWS = 2_000;

/** Number of rows counted per step. The event loop can run other work between steps. */
const COUNT_ROWS = 20_000;

const INSERT = `INSERT INTO archive (kind, at, name, subject, text, crc) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (kind, at, name) DO NOTHING`;

/**
 * Implements the interface `Archive` on the archive table.
 *
 * @param table Returns the current archive table.
 */
export function createSqliteArchive(
  table: () => ArchiveTable,
  gate: StoreGate,
  commits: GroupCommit,
): Archive {
  return {
    async append(rows) {
      gate.checkWritable();
      const added = rows.map(archiveDumpRowOf);
      return commits.add(() => added.reduce((sum, row) => sum + table().insert(row), 0));
    },
    read: async (kind, selection) => gate.answer(() => table().read(kind, selection)),
    async prune(kind, before) {
      for (let pruned = 0; ; ) {
        gate.checkWritable();
        const some = gate.answer(() => table().prune(kind, before));
        pruned += some;
        if (some < PRUNE_ROWS) return pruned;
        await setImmediate();
      }
    },
  };
}

/** The archive table of a database file. */
export class ArchiveTable {
  readonly #file: StoreFile;

  constructor(file: StoreFile) {
    this.#file = file;
  }

  /**
   * Adds a row, unless it exists.
   *
   * @returns The number of added rows, 0 or 1.
   */
  insert(row: ArchiveDumpRow): number {
    const columns = columnsOf(row);
    const { changes } = this.#file.write(INSERT, ...columns, checksumOf(columns));
    return Number(changes);
  }

  /** Reads rows of a kind. @throws {Problem} If the checksum of a row does not match. */
  read(kind: string, selection: ArchiveSelection): readonly ArchiveRow[] {
    const { sql, values } = selectionOf(kind, selection);
    return this.#file
      .statement(sql)
      .all(...values)
      .map((row) => {
        const { at, id, subject, text } = this.#checked(row);
        return { kind, at, id, ...(subject === null ? {} : { subject }), body: JSON.parse(text) };
      });
  }

  /**
   * Deletes at most `PRUNE_ROWS` rows of a kind.
   *
   * @returns The number of deleted rows.
   */
  prune(kind: string, before: number): number {
    const sql = `DELETE FROM archive WHERE id IN
      (SELECT id FROM archive WHERE kind = ? AND at < ? ORDER BY at LIMIT ${PRUNE_ROWS})`;
    return Number(this.#file.statement(sql).run(kind, before).changes);
  }

  /** Counts all rows in steps, using the index on (kind, at, name). */
  async count(): Promise<number> {
    const after = "FROM archive WHERE (kind, at, name) > (?, ?, ?)";
    const next = `SELECT kind, at, name ${after} ORDER BY kind, at, name
      LIMIT 1 OFFSET ${COUNT_ROWS - 1}`;
    let last: readonly SqlValue[] = ["", Number.MIN_SAFE_INTEGER, ""];
    for (let counted = 0; ; counted += COUNT_ROWS) {
      const row = this.#file.statement(next).get(...last);
      if (row === undefined) {
        const rest = this.#file.statement(`SELECT count(*) AS rows ${after}`).get(...last);
        return counted + Number(rest?.rows);
      }
      last = [row.kind, row.at, row.name] as readonly SqlValue[];
      await setImmediate();
    }
  }

  /** Yields every row in insertion order, including changes made during the iteration. */
  *inOrder(): Generator<ArchiveDumpRow> {
    const select = this.#file.database.prepare("SELECT * FROM archive ORDER BY id");
    for (const row of select.iterate()) yield this.#checked(row);
  }

  #checked(row: Readonly<Record<string, unknown>>): ArchiveDumpRow {
    const found = dumpRowOf(row);
    if (isWhole(found, row.crc)) return found;
    throw damagedRowProblem(this.#file.path, "a row of the archive");
  }
}

/**
 * Converts an archive row to a dump row, the form that `ArchiveTable.insert` takes.
 *
 * @throws {Error} If the store cannot hold the row.
 */
export function archiveDumpRowOf({ kind, at, id, subject, body }: Row): ArchiveDumpRow {
  for (const name of [kind, id, subject ?? ""]) checkStorableName(name);
  const text = jsonText(body);
  return { table: "archive", kind, at: toStorableInstant(at), id, subject: subject ?? null, text };
}

/** An archive row, possibly without a subject. */
type Row = Omit<ArchiveRow, "subject"> & { readonly subject?: string | null };

/**
 * Verifies the checksums of the next `limit` rows after the row number `after`.
 *
 * @returns The number of the last row, and the numbers of the rows whose checksum does not match.
 */
export function findBrokenArchiveRows(file: StoreFile, after: number, limit: number) {
  const sql = "SELECT * FROM archive WHERE id > ? ORDER BY id LIMIT ?";
  const rows = file.statement(sql).all(after, limit);
  const broken = rows.filter((row) => !isWhole(dumpRowOf(row), row.crc));
  return { last: rows.at(-1)?.id, broken: broken.map(({ id }) => Number(id)) };
}

/**
 * SQL statement and parameter values for a selection. The statement depends only on which members
 * of the selection are set.
 */
function selectionOf(kind: string, selection: ArchiveSelection) {
  const { subject, from, to, order, after, limit } = selection;
  const [direction, beyond] = order === "oldest" ? ["ASC", ">"] : ["DESC", "<"];
  const terms = [
    { sql: "kind = ?", values: [kind] },
    { sql: "subject = ?", values: subject === undefined ? undefined : [subject] },
    { sql: "at >= ?", values: from === undefined ? undefined : [from] },
    { sql: "at <= ?", values: to === undefined ? undefined : [to] },
    { sql: `(at, name) ${beyond} (?, ?)`, values: after && [after.at, after.id] },
  ].filter(({ values }) => values !== undefined);
  return {
    sql: `SELECT * FROM archive WHERE ${terms.map((term) => term.sql).join(" AND ")}
          ORDER BY at ${direction}, name ${direction} LIMIT ?`,
    values: [...terms.flatMap((term) => term.values ?? []), limit],
  };
}

function dumpRowOf(row: Readonly<Record<string, unknown>>): ArchiveDumpRow {
  const { kind, at, name, subject, text } = row;
  return { table: "archive", kind, at, id: name, subject, text } as ArchiveDumpRow;
}

function isWhole(row: ArchiveDumpRow, crc: unknown): boolean {
  return checksumOf(columnsOf(row)) === crc;
}

function columnsOf({ kind, at, id, subject, text }: ArchiveDumpRow) {
  return [kind, at, id, subject, text] as const;
}
