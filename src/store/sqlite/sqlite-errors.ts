import { dirname } from "node:path";
import type { Problem } from "../../lib/problem.ts";
import { folderNotWritableError } from "../folder-errors.ts";
import { isStoreFault, storeUnavailableProblem } from "../port/unavailable.ts";

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

/**
 * Extended result code: the shared-memory index of a write-ahead log could not grow, which happens
 * only when the disk is full.
 */
const IO_ERROR_SHARED_SIZE = 4_874;

/** Whether an error was raised by SQLite. */
export function isSqliteError(error: unknown): error is SqliteError {
  return error instanceof Error && "errcode" in error;
}

/** Whether an error means that another process has locked the file. */
export function isBusyError(error: unknown): boolean {
  return isSqliteError(error) && primary(error) === BUSY;
}

/**
 * Whether an error means that the disk is full. In that case nothing was written, and writes work
 * again once there is space.
 */
function isDiskFull(error: unknown): boolean {
  if (!isSqliteError(error)) return (error as NodeJS.ErrnoException | undefined)?.code === "ENOSPC";
  return primary(error) === FULL || error.errcode === IO_ERROR_SHARED_SIZE;
}

/**
 * Whether an error means that the file could not be read or written for an external reason. The
 * file may be intact.
 */
function isUnreachable(error: unknown): boolean {
  return isSqliteError(error) && primary(error) === CANNOT_OPEN;
}

/** Whether the state on disk is unknown after an error. */
export function isDiskStateUnknown(error: unknown): boolean {
  if (!isSqliteError(error) || isDiskFull(error)) return false;
  return [IO_ERROR, CORRUPT, NOT_A_DATABASE].includes(primary(error));
}

/**
 * Converts an error for the caller: an SQLite error becomes a problem, other errors are unchanged.
 */
export function sqliteErrorAsProblem(error: unknown): unknown {
  return isSqliteError(error) ? problemOf(error) : error;
}

/** The message of an error, or the thrown value as text. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The error when another process is using the folder. */
export function folderInUseError(path: string): Error {
  return new Error(`another process is using ${path}; stop it or set DATA_DIR`);
}

/** The error for a damaged file. The file must not be opened, to prevent further loss. */
export function damagedFileError(path: string, what: string): Error {
  return new Error(
    `${path} is damaged (${what}). Nothing was changed. ` +
      "Put the last backup back: market-signal store restore <backup file>",
  );
}

/**
 * The problem for a row whose checksum does not match.
 *
 * @param path Path of the database file.
 */
export function damagedRowProblem(path: string, row: string): Problem {
  return storeUnavailableProblem(
    "A part of the store is damaged.",
    damagedFileError(path, `${row} is not as it was written`),
  );
}

/**
 * Runs work on a file that is being opened.
 *
 * @throws {Error} If the work fails; the message names the file. SQLite errors at this stage mean
 * that the file is damaged.
 */
export function explainFileErrors<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (isBusyError(error)) throw folderInUseError(path);
    if (isDiskFull(error)) throw diskFullError(dirname(path));
    const message = messageOf(error);
    if (isUnreachable(error)) throw new Error(`${path} cannot be opened (${message})`);
    throw damagedFileError(path, message);
  }
}

/**
 * The error, for the operator, of a start that a full disk or a fault of the store has ended; other
 * errors are unchanged.
 *
 * @param folder Folder of the embedded store.
 */
export function explainStartFault(folder: string, error: unknown): unknown {
  const cause = isStoreFault(error) ? error.cause : error;
  if (isDiskFull(cause)) return diskFullError(folder);
  if (!isStoreFault(error)) return error;
  return new Error(`the store in ${folder} did not answer (${messageOf(cause)}); check its disk`);
}

/** The error, for the operator, when the disk of a folder is full. */
const diskFullError = (folder: string): Error => folderNotWritableError(folder, { code: "ENOSPC" });

function problemOf(error: SqliteError): Problem {
  return isDiskFull(error)
    ? storeUnavailableProblem("The disk of the store is full.", error)
    : storeUnavailableProblem("The files of the store did not answer.", error);
}

function primary({ errcode }: SqliteError): number {
  return errcode & 0xff;
}
