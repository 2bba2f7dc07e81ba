import { existsSync, realpathSync, statSync } from "node:fs";
import { basename } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { findBrokenArchiveRows } from "./archive.ts";
import { createFile, databaseFiles, walPathOf } from "./folder.ts";
import { findBrokenRecords } from "./record-table.ts";
import { damagedFileError, explainFileErrors, messageOf } from "./sqlite-errors.ts";
import { PAGE_BYTES, START_CHECKED_TABLES, StoreFile } from "./store-file.ts";
import { walFault } from "./write-ahead-log.ts";

/**
 * Size in bytes up to which a file is completely checked at every start: all pages, indexes and
 * record checksums, which takes about 30 ms. In a larger file, only the pages of the record tables
 * are checked.
 */
const SMALL_BYTES = 4 * 2 ** 20;

/** Number of rows checked per step. */
const CHECK_ROWS = 500;

/** Maximum number of damaged rows that are reported. */
const MAX_PROBLEMS = 100;

/**
 * Resolves a symbolic link. SQLite keeps the write-ahead log and its index next to the target of
 * the link.
 */
export function resolveSymbolicLink(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

/**
 * Checks a file and its write-ahead log before SQLite opens them, because SQLite would silently
 * extend a truncated last page. A truncated page counts as damage unless a crash has left a log.
 *
 * @throws {Error} If the file or the log is damaged.
 */
export function checkBeforeOpening(path: string): void {
  if (!existsSync(path)) throw damagedFileError(path, "it is missing");
  const { size } = statSync(path);
  const log = walPathOf(path);
  if (size === 0) throw damagedFileError(path, "it is empty");
  if (size % PAGE_BYTES !== 0 && !existsSync(log)) throw damagedFileError(path, "it is cut off");
  const fault = existsSync(log) ? explainFileErrors(path, () => walFault(log)) : undefined;
  if (fault !== undefined) throw damagedFileError(log, fault);
  databaseFiles(path).filter(existsSync).forEach(createFile);
}

/**
 * Checks a file at every start. An archive of many gigabytes must not delay the start, so archive
 * rows and records are verified when they are read, and the whole file is verified by `checkFile`.
 *
 * @throws {Error} If the file is damaged; the message says how.
 */
export function checkAtStart(file: StoreFile): void {
  const { size } = statSync(file.path);
  const isSmall = size <= SMALL_BYTES;
  // The file is memory-mapped, so that every page is read once and none stays in the cache.
  file.database.exec(`PRAGMA mmap_size = ${size}`);
  const [fault] = isSmall
    ? [
        ...file.faults("integrity_check(1)"),
        ...brokenRowsOf(file, findBrokenRecords, "the record in"),
      ]
    : START_CHECKED_TABLES.flatMap((table) => file.faults(`quick_check('${table}')`));
  file.database.exec("PRAGMA mmap_size = 0");
  if (fault !== undefined) throw new Error(fault);
}

/**
 * Checks the whole file: all pages, the indexes against the rows, and the checksum of every row.
 *
 * @returns The problems found; empty if there are none.
 */
function checkAll(file: StoreFile): readonly string[] {
  return [
    ...file.faults("integrity_check"),
    ...brokenRowsOf(file, findBrokenRecords, "the record in"),
    ...brokenRowsOf(file, findBrokenArchiveRows, "the archive's"),
  ];
}

function brokenRowsOf(
  file: StoreFile,
  brokenRows: typeof findBrokenRecords,
  what: string,
): readonly string[] {
  const problems: string[] = [];
  let after: unknown = Number.MIN_SAFE_INTEGER;
  while (after !== undefined && problems.length < MAX_PROBLEMS) {
    const { last, broken } = brokenRows(file, Number(after), CHECK_ROWS);
    problems.push(...broken.map((row) => `${what} row ${row} is not as it was written`));
    after = last;
  }
  return problems;
}

/**
 * Checks a whole file on disk. Damage that aborts the check is reported as a problem.
 *
 * @returns Problems, with the file name; empty if there are none.
 */
export function checkFile(path: string): readonly string[] {
  const named = (problem: string) => `${basename(path)}: ${problem}`;
  try {
    const file = new StoreFile(path, new DatabaseSync(path, { readOnly: true }));
    try {
      return checkAll(file).map(named);
    } finally {
      file.close();
    }
  } catch (error) {
    return [named(messageOf(error))];
  }
}
