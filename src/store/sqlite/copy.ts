import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { parseJson } from "../../lib/json.ts";
import type { DumpRow, StoreIdentity } from "../port/store.ts";
import { isStoreFault } from "../port/unavailable.ts";
import { rowBatches } from "./snapshot.ts";
import { messageOf } from "./sqlite-errors.ts";
import { FORMAT_VERSION, SCHEMAS, StoreFile } from "./store-file.ts";

/** The first bytes of every database file (https://www.sqlite.org/fileformat2.html). */
export const SQLITE_MAGIC = "SQLite format 3\0";

/** Schema of what a copy says of itself. */
const CopyFacts = z.strictObject({
  /** When the copy was started. */
  createdAt: z.iso.datetime(),
  records: z.int(),
  archive: z.int(),
});

/** What a copy says of itself. */
export type CopyFacts = z.infer<typeof CopyFacts>;

/** Schema of the identity of the copied store. */
const Identity = z.strictObject({
  id: z.string().min(1),
  mode: z.enum(["sandbox", "files", "replay", "live"]),
}) satisfies z.ZodType<StoreIdentity>;

/**
 * Writes one moment of a database into an empty file, while others write to the database, by
 * SQLite's `VACUUM INTO` (https://www.sqlite.org/lang_vacuum.html#vacuuminto). Unlike a copy of the
 * pages (`sqlite3_backup`), the file has nothing that was deleted before.
 *
 * @param createdAt In ISO 8601 format.
 */
export function copyFile(from: string, to: string, createdAt: string): CopyFacts {
  const source = new DatabaseSync(from, { readOnly: true });
  try {
    source.prepare("VACUUM INTO ?").run(to);
  } finally {
    source.close();
  }
  const file = new StoreFile(to, new DatabaseSync(to));
  try {
    const facts = { createdAt, ...countRows(file) };
    file.transaction(() => file.setMeta("copy", JSON.stringify(facts)));
    return facts;
  } finally {
    file.close();
  }
}

function countRows({ database }: StoreFile): Omit<CopyFacts, "createdAt"> {
  const count = (table: string) =>
    Number(database.prepare(`SELECT count(*) AS rows FROM ${table}`).get()?.rows);
  return { records: count("record"), archive: count("archive") };
}

/** A copy that is being read. */
interface StoreCopy {
  readonly identity: StoreIdentity;
  readonly facts: CopyFacts;
  /** The rows. Whether they are valid is known only after all of them have been read. */
  readonly batches: AsyncGenerator<readonly DumpRow[]>;
  /** Stops reading. */
  close(): void;
}

/**
 * Opens a copy of a store.
 *
 * @throws {Error} If the file is damaged or no copy of a store; the message says what to do. If a
 * row is damaged or missing, the same kind of error is thrown later, while the rows are read.
 */
export function openCopy(path: string): StoreCopy {
  const file = new StoreFile(path, new DatabaseSync(path, { readOnly: true }));
  return file.closingOnError(() => {
    try {
      const { identity, facts } = readFacts(file);
      return { identity, facts, batches: readRows(file, facts), close: () => file.close() };
    } catch (error) {
      throw badCopyError(path, error);
    }
  });
}

function readFacts(file: StoreFile): Pick<StoreCopy, "identity" | "facts"> {
  const pragma = (name: string) => Number(file.database.prepare(`PRAGMA ${name}`).get()?.[name]);
  if (statSync(file.path).size !== pragma("page_count") * pragma("page_size")) {
    throw new Error("it is cut off");
  }
  const meta = file.meta();
  const schema = SCHEMAS.get(meta.get("format") ?? "");
  if (schema === undefined) {
    throw new Error(
      `it was written by another version of this program (format ${meta.get("format")}, known is ${FORMAT_VERSION})`,
    );
  }
  file.checkSchema(schema);
  const facts = parseJson(meta.get("copy") ?? "");
  if (facts === undefined) throw new Error("it is the file of a store and no backup of one");
  const identity = { id: meta.get("id"), mode: meta.get("mode") };
  return { identity: Identity.parse(identity), facts: CopyFacts.parse(facts) };
}

/** Yields every row, and checks them: each by its checksum, and all by their number and order. */
async function* readRows(file: StoreFile, facts: CopyFacts): AsyncGenerator<readonly DumpRow[]> {
  try {
    yield* checkedRows(file, facts);
  } catch (error) {
    throw badCopyError(file.path, error);
  } finally {
    file.close();
  }
}

async function* checkedRows(
  file: StoreFile,
  { records, archive }: CopyFacts,
): AsyncGenerator<readonly DumpRow[]> {
  const rows = { record: 0, archive: 0 };
  let revision = 0;
  for await (const batch of rowBatches(file)) {
    for (const row of batch) {
      rows[row.table] += 1;
      if (row.table === "archive") continue;
      if (row.revision <= revision) throw new Error("its records are out of order");
      revision = row.revision;
    }
    yield batch;
  }
  if (rows.record === records && rows.archive === archive) return;
  throw new Error(
    `it counts ${records} records and ${archive} archive rows, there are ${rows.record} and ${rows.archive}`,
  );
}

function badCopyError(path: string, error: unknown): Error {
  const what = isStoreFault(error) ? "a row is not as it was written" : messageOf(error);
  return new Error(`${path}: ${what}. Nothing was changed; use another backup.`, { cause: error });
}
