import { renameSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { DumpRow, StoreIdentity } from "../store.ts";
import { syncFolder } from "../sync-folder.ts";
import { ARCHIVE_SCHEMA, type ArchiveDumpRow, insertArchived } from "./archive-table.ts";
import {
  checkInstant,
  checkName,
  checkRevision,
  documentFrom,
  type Entry,
  entryOf,
} from "./entry.ts";
import { FORMAT, type MetaName, setMeta } from "./meta.ts";
import { createFile, type Paths, removeNext, syncFile } from "./paths.ts";
import { insertRecord, RECORD_SCHEMA } from "./record-table.ts";
import { closingOnError, fileOf, PAGE_BYTES, type SqliteFile } from "./sqlite-file.ts";

/**
 * How far the counter of revisions is above the newest record of a copy. The copied store may have
 * given higher revisions to records that it has lost since; a copy does not say which, and a
 * revision that somebody still knows must not be given again.
 */
export const REVISION_GAP = 1_000_000;

/** What the next files of a store say about it. */
export interface Beginning {
  readonly identity: StoreIdentity;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Later revisions are higher than this. */
  readonly revision: number;
}

/** The next files of a store while they are written; the store in use does not know of them. */
export interface Staging {
  /** @throws {Error} When the row cannot be kept as it is. */
  add(row: DumpRow): void;
  /** Makes the next files whole and durable: from then on they count. */
  finish(): void;
  /** Leaves nothing of them, unless they count. */
  discard(): void;
}

/** Begins the next files of a store. */
export function createStaging(paths: Paths, { identity, now, revision }: Beginning): Staging {
  removeNext(paths);
  const facts = { format: FORMAT, id: identity.id, created: new Date(now).toISOString() };
  const records = createNext(paths.unfinishedRecords, RECORD_SCHEMA, facts);
  const archive = closingOnError(records, () =>
    createNext(paths.nextArchive, ARCHIVE_SCHEMA, facts),
  );
  setMeta(records, "mode", identity.mode);
  const places = new Set<string>();
  let newest = revision;
  let isOver = false;
  return {
    add(row) {
      if (row.table === "archive") {
        insertArchived(archive, checkedArchived(row));
        return;
      }
      const entry = entryFrom(row);
      const place = `${row.collection}\0${row.key}`;
      if (places.has(place))
        throw new Error(`The record ${row.collection}/${row.key} is there twice.`);
      places.add(place);
      newest = Math.max(newest, row.revision + REVISION_GAP);
      insertRecord(records, entry, places.size);
    },
    finish() {
      setMeta(records, "revision", String(newest));
      for (const file of [records, archive]) finishFile(file);
      syncFolder(paths.folder);
      renameSync(paths.unfinishedRecords, paths.nextRecords);
      syncFolder(paths.folder);
      isOver = true;
    },
    discard() {
      if (isOver) return;
      isOver = true;
      for (const file of [records, archive]) file.close();
      removeNext(paths);
    },
  };
}

/** A file that nobody relies on before it is finished needs no journal. */
function createNext(
  path: string,
  schema: readonly string[],
  facts: Readonly<Partial<Record<MetaName, string>>>,
): SqliteFile {
  createFile(path);
  const file = fileOf(path, new DatabaseSync(path));
  return closingOnError(file, () => {
    file.database.exec(`
      PRAGMA page_size = ${PAGE_BYTES};
      PRAGMA journal_mode = OFF;
      PRAGMA synchronous = OFF;
      BEGIN;
    `);
    for (const sql of schema) file.database.exec(sql);
    for (const [name, value] of Object.entries(facts)) setMeta(file, name as MetaName, value);
    return file;
  });
}

function finishFile(file: SqliteFile): void {
  file.database.exec("COMMIT; PRAGMA journal_mode = WAL");
  file.close();
  syncFile(file.path);
}

function checkedArchived(row: ArchiveDumpRow): ArchiveDumpRow {
  for (const name of [row.kind, row.id, row.subject ?? ""]) checkName(name);
  checkJson(row.text);
  return { ...row, at: checkInstant(row.at) };
}

function entryFrom(row: Extract<DumpRow, { table: "record" }>): Entry {
  const { collection, key, text, revision, groups } = row;
  for (const name of [collection, key, ...groups]) checkName(name);
  checkJson(text);
  checkRevision(revision + REVISION_GAP);
  const instant = (at: number | null) => (at === null ? undefined : checkInstant(at));
  return entryOf({
    ...{ collection, key, document: documentFrom(text), revision, groups },
    expiresAt: instant(row.expiresAt),
    dueAt: instant(row.dueAt),
    consumedAt: instant(row.consumedAt),
  });
}

function checkJson(text: string): void {
  if (!text.isWellFormed()) throw new RangeError("A text has half a surrogate pair in it.");
  JSON.parse(text);
}
