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

/** The shared index of a write-ahead log could not grow, which nothing but a full disk does. */
const IO_ERROR_SHARED_SIZE = 4_874;

/** Whether SQLite raised the error. */
export function isSqliteError(error: unknown): error is SqliteError {
  return error instanceof Error && "errcode" in error;
}

/** Whether another process holds the file. */
export function isBusy(error: unknown): boolean {
  return isSqliteError(error) && primary(error) === BUSY;
}

/** Whether there was no space: nothing was written, and it heals when there is space again. */
function isDiskFull(error: unknown): boolean {
  if (!isSqliteError(error)) return false;
  return primary(error) === FULL || error.errcode === IO_ERROR_SHARED_SIZE;
}

/** Whether the file could not be read or written for a reason outside of it; it may be whole. */
function isUnreachable(error: unknown): boolean {
  return isSqliteError(error) && (isDiskFull(error) || primary(error) === CANNOT_OPEN);
}

/** Whether it is uncertain what is on disk now. */
export function isUncertain(error: unknown): boolean {
  if (!isSqliteError(error) || isDiskFull(error)) return false;
  return [IO_ERROR, CORRUPT, NOT_A_DATABASE].includes(primary(error));
}

/** The error for a caller: an error of SQLite becomes a problem, others stay as they are. */
export function refusalOf(error: unknown): unknown {
  return isSqliteError(error) ? problemOf(error) : error;
}

/** What an error says. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Another process is at the folder. */
export function inUse(path: string): Error {
  return new Error(`another process is using ${path}; stop it or set DATA_DIR`);
}

/** A file that must not be opened, since more would be lost. */
export function damaged(path: string, what: string): Error {
  return new Error(
    `${path} is damaged (${what}). Nothing was changed. ` +
      "Put the last backup back: market-signal store restore <backup file>",
  );
}

/** The problem for readers of a row whose checksum does not match. @param path Of the file. */
export function damagedRow(path: string, row: string): Problem {
  return storeUnavailable(
    "A part of the store is damaged.",
    damaged(path, `${row} is not as it was written`),
  );
}

/**
 * Does something with a file that is being opened.
 *
 * @throws {Error} That names the file: whatever SQLite does not like about it is damage.
 */
export function explained<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (isBusy(error)) throw inUse(path);
    const message = messageOf(error);
    if (isUnreachable(error)) throw new Error(`${path} cannot be opened (${message})`);
    throw damaged(path, message);
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
