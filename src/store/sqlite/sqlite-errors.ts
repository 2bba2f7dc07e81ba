import type { Problem } from "../../problem.ts";
import { storeUnavailable } from "../port/unavailable.ts";

/** An error of SQLite; `errcode` is its extended result code. */
interface SqliteError extends Error {
  readonly errcode: number;
}

/** Result codes of SQLite (https://www.sqlite.org/rescode.html). */
const BUSY = 5;
const IO_ERROR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANNOT_OPEN = 14;
const NOT_A_DATABASE = 26;

/** The shared-memory index of a write-ahead log could not grow, which only a full disk causes. */
const IO_ERROR_SHARED_SIZE = 4_874;

/** Whether SQLite raised the error. */
export function isSqliteError(error: unknown): error is SqliteError {
  return error instanceof Error && "errcode" in error;
}

/** Whether another process holds the file. */
export function isBusyError(error: unknown): boolean {
  return isSqliteError(error) && primary(error) === BUSY;
}

/** Whether the disk was full: nothing was written, and writes work again once there is space. */
function isDiskFull(error: unknown): boolean {
  if (!isSqliteError(error)) return false;
  return primary(error) === FULL || error.errcode === IO_ERROR_SHARED_SIZE;
}

/** Whether the file could not be read or written for an external reason; it may be intact. */
function isUnreachable(error: unknown): boolean {
  return isSqliteError(error) && (isDiskFull(error) || primary(error) === CANNOT_OPEN);
}

/** Whether the state on disk is unknown. */
export function isDiskStateUnknown(error: unknown): boolean {
  if (!isSqliteError(error) || isDiskFull(error)) return false;
  return [IO_ERROR, CORRUPT, NOT_A_DATABASE].includes(primary(error));
}

/** The error for a caller: an SQLite error becomes a problem, others are unchanged. */
export function clientErrorOf(error: unknown): unknown {
  return isSqliteError(error) ? problemOf(error) : error;
}

/** The message of an error. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The error if another process uses the folder. */
export function folderInUseError(path: string): Error {
  return new Error(`another process is using ${path}; stop it or set DATA_DIR`);
}

/** The error of a damaged file, which must not be opened, to prevent further loss. */
export function damagedFileError(path: string, what: string): Error {
  return new Error(
    `${path} is damaged (${what}). Nothing was changed. ` +
      "Put the last backup back: market-signal store restore <backup file>",
  );
}

/**
 * The problem of a row whose checksum does not match.
 *
 * @param path Path of the file.
 */
export function damagedRowProblem(path: string, row: string): Problem {
  return storeUnavailable(
    "A part of the store is damaged.",
    damagedFileError(path, `${row} is not as it was written`),
  );
}

/**
 * Runs work on a file that is being opened.
 *
 * @throws {Error} Names the file; errors of SQLite here mean damage.
 */
export function explainFileErrors<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (isBusyError(error)) throw folderInUseError(path);
    const message = messageOf(error);
    if (isUnreachable(error)) throw new Error(`${path} cannot be opened (${message})`);
    throw damagedFileError(path, message);
  }
}

function problemOf(error: SqliteError): Problem {
  return isDiskFull(error)
    ? storeUnavailable("The disk of the store is full.", error)
    : storeUnavailable("The files of the store did not answer.", error);
}

function primary({ errcode }: SqliteError): number {
  return errcode & 0xff;
}
