import type { Stored } from "../port/records.ts";
import type { DumpRow } from "../port/store.ts";
import { checksumOf, type SqlValue } from "./store-file.ts";

/** A record in a dump. */
export type RecordDumpRow = Extract<DumpRow, { table: "record" }>;

/**
 * The content of a record, without its collection, key and revision. Instants are milliseconds
 * since the epoch.
 */
export interface RecordContent {
  /** Value of the record, as JSON. */
  readonly text: string;
  /** Groups of the record, as a JSON array. */
  readonly groups: string;
  readonly expiresAt: number | null;
  readonly dueAt: number | null;
  readonly consumedAt: number | null;
}

/** A row of the record table. */
export interface RecordRow extends RecordContent {
  readonly id: number;
  readonly collection: string;
  readonly key: string;
  readonly revision: number;
}

/** Converts a row to the record that callers see. */
export function storedOf<T>(row: RecordRow): Stored<T> {
  return {
    key: row.key,
    value: JSON.parse(row.text) as T,
    revision: row.revision,
    groups: namesIn(row.groups),
    expiresAt: row.expiresAt ?? undefined,
    dueAt: row.dueAt ?? undefined,
    consumedAt: row.consumedAt ?? undefined,
  };
}

const NO_NAMES: readonly string[] = Object.freeze([]);

/** The groups of a record. @param groups As a JSON array. */
export function namesIn(groups: string): readonly string[] {
  return groups === "[]" ? NO_NAMES : JSON.parse(groups);
}

/** Whether a row has the checksum of its columns. */
export function isWhole(row: RecordRow, crc: unknown): boolean {
  return checksumOf(columnsOf(row)) === crc;
}

/** The columns of a row, followed by their checksum. */
export function valuesOf(row: Omit<RecordRow, "id">): SqlValue[] {
  const columns = columnsOf(row);
  return [...columns, checksumOf(columns)];
}

/** The columns that the checksum covers, in the order of insertion. */
function columnsOf(row: Omit<RecordRow, "id">): SqlValue[] {
  const { collection, key, revision, groups, expiresAt, dueAt, consumedAt, text } = row;
  return [collection, key, revision, groups, expiresAt, dueAt, consumedAt, text];
}

/** Reads a row of the table. */
export function rowOf(row: Readonly<Record<string, unknown>>): RecordRow {
  const { id, collection, key, revision, groups, text } = row as unknown as RecordRow;
  const instants = row as Readonly<Record<"expires_at" | "due_at" | "consumed_at", number | null>>;
  return {
    id,
    collection,
    key,
    revision,
    groups,
    text,
    expiresAt: instants.expires_at,
    dueAt: instants.due_at,
    consumedAt: instants.consumed_at,
  };
}

/** Converts a row to that of a dump. */
export function dumpRowOf({ id: _, groups, ...row }: RecordRow): RecordDumpRow {
  return { table: "record", ...row, groups: JSON.parse(groups) };
}
