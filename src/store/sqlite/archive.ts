import { setImmediate } from "node:timers/promises";
import type { Problem } from "../../lib/problem.ts";
import type { Archive, ArchiveRow, ArchiveSelection, FollowingRows } from "../port/archive.ts";
import type { DumpRow } from "../port/store.ts";
import { checkStorableName, jsonText, toStorableInstant } from "../port/values.ts";
import type { StoreGate } from "./gate.ts";
import type { GroupCommit } from "./group-commit.ts";
import type { RecordTable } from "./record-table.ts";
import { damagedRowProblem } from "./sqlite-errors.ts";
import { checksumOf, type SqlValue, type StoreFile } from "./store-file.ts";

/** An archive row in a dump. */
type ArchiveDumpRow = Extract<DumpRow, { table: "archive" }>;

/**
 * Maximum number of rows deleted per transaction. The event loop can run other work between
 * transactions.
 */
const PRUNE_ROWS = 2_000;

/** Number of rows counted per step. The event loop can run other work between steps. */
const COUNT_ROWS = 20_000;

const INSERT = `INSERT INTO archive (id, kind, at, name, subject, text, crc)
  VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (kind, at, name) DO NOTHING`;

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
      return commits.add(() => added.filter((row) => table().insert(row)).length);
    },
    read: async (kind, selection) => gate.answer(() => table().read(kind, selection)),
    follow: async (kinds, after, limit) => gate.answer(() => table().follow(kinds, after, limit)),
    lastPlace: async () => gate.answer(() => table().lastPlace()),
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

/**
 * Assigns the places of rows. They are revisions of the store, which are never reused; SQLite would
 * assign the id of the newest row again after that row was deleted.
 */
type Places = Pick<RecordTable, "withNextRevision">;

/** The archive table of a database file. */
export class ArchiveTable {
  readonly #file: StoreFile;
  readonly #places: Places;

  constructor(file: StoreFile, places: Places) {
    this.#file = file;
    this.#places = places;
  }

  /**
   * Adds a row at the next place, unless it exists.
   *
   * @returns Whether the row was added.
   */
  insert(row: ArchiveDumpRow): boolean {
    const columns = columnsOf(row);
    const values = [...columns, checksumOf(columns)];
    return this.#places.withNextRevision(
      (place) => this.#file.write(INSERT, place, ...values).changes === 1,
    );
  }

  /** Reads rows of a kind. @throws {Problem} If the checksum of a row does not match. */
  read(kind: string, selection: ArchiveSelection): readonly ArchiveRow[] {
    const { sql, values } = selectionOf(kind, selection);
    return this.#file
      .statement(sql)
      .all(...values)
      .map((row) => archiveRowOf(this.#checked(row)));
  }

  /** Like `Archive.follow`. @throws {Problem} If the checksum of a row does not match. */
  follow(kinds: ReadonlySet<string>, after: number, limit: number): FollowingRows {
    const next = "SELECT id, kind FROM archive WHERE id > ? ORDER BY id LIMIT ?";
    const found = this.#file.statement(next).all(after, limit);
    const whole = this.#file.statement("SELECT * FROM archive WHERE id = ?");
    const rows = found
      .filter(({ kind }) => kinds.has(kind as string))
      .flatMap(({ id }) => whole.all(Number(id)))
      .map((row) => archiveRowOf(this.#checked(row)));
    return { rows, place: Number(found.at(-1)?.id ?? after) };
  }

  lastPlace(): number {
    return Number(this.#file.statement("SELECT max(id) AS place FROM archive").get()?.place ?? 0);
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

  /**
   * Yields every row in insertion order, including changes made during the iteration.
   *
   * @throws {Problem} If the checksum of a row does not match, or a page has a row twice.
   */
  *inOrder(): Generator<ArchiveDumpRow> {
    const select = this.#file.database.prepare("SELECT * FROM archive ORDER BY id");
    let place = 0;
    for (const row of select.iterate()) {
      if (Number(row.id) <= place) throw this.#damaged();
      place = Number(row.id);
      yield this.#checked(row);
    }
  }

  #checked(row: Readonly<Record<string, unknown>>): ArchiveDumpRow {
    const found = dumpRowOf(row);
    if (isWhole(found, row.crc)) return found;
    throw this.#damaged();
  }

  #damaged(): Problem {
    return damagedRowProblem(this.#file.path, "a row of the archive");
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

function archiveRowOf({ kind, at, id, subject, text }: ArchiveDumpRow): ArchiveRow {
  return { kind, at, id, ...(subject === null ? {} : { subject }), body: JSON.parse(text) };
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
