import { createHash, type Hash } from "node:crypto";
import { z } from "zod";
import { parseJson } from "../../lib/json.ts";
import type { DumpRow, StoreIdentity } from "../../store/port/store.ts";
import { MAX_LINE_BYTES } from "./lines.ts";

/** Name of the format, in the header of every backup. */
const BACKUP_FORMAT = "market-signal-backup";

/**
 * Format version, incremented when older programs cannot read the format. Backups of version 2,
 * which version 1.0.0 of the program writes, can contain URLs of webhooks in plain text.
 */
const BACKUP_VERSION = 3;

/**
 * Length from which text is passed on to be compressed, in UTF-16 code units. Each piece costs a
 * turn of the event loop, whatever its length.
 */
const CHUNK_LENGTH = 64 * 1024;

/** Number of rows after which a batch ends when a backup is read. */
const BATCH_ROWS = 500;

/** Number of bytes after which a batch ends, since a compressed file can hold very long rows. */
const BATCH_BYTES = 4 * 1024 * 1024;

/** Schema of the first line of a backup. */
const BackupHeader = z.strictObject({
  format: z.literal(BACKUP_FORMAT),
  version: z.literal([2, BACKUP_VERSION]),
  storeId: z.string().min(1),
  mode: z.enum(["sandbox", "files", "replay", "live"]),
  /** When the backup was started. */
  createdAt: z.iso.datetime(),
});
type BackupHeader = z.infer<typeof BackupHeader>;

const Instant = z.number().nullable();

/** JSON as text, which is stored verbatim. */
const JsonText = z.string().refine((text) => parseJson(text) !== undefined, "is not JSON");

/** Schema of every line between the header and the footer. */
const Row = z.discriminatedUnion("table", [
  z.strictObject({
    table: z.literal("record"),
    collection: z.string(),
    key: z.string(),
    text: JsonText,
    revision: z.int().positive(),
    groups: z.array(z.string()),
    expiresAt: Instant,
    dueAt: Instant,
    consumedAt: Instant,
  }),
  z.strictObject({
    table: z.literal("archive"),
    kind: z.string(),
    at: z.number(),
    id: z.string(),
    subject: z.string().nullable(),
    text: JsonText,
  }),
]) satisfies z.ZodType<DumpRow>;

/** Schema of the last line of a backup. */
const BackupFooter = z.strictObject({
  /** Number of rows of each table. */
  rows: z.strictObject({ record: z.int(), archive: z.int() }),
  /** SHA-256 of every byte before this line, in hexadecimal. */
  sha256: z.string(),
});

/** Number of rows per table. */
export type RowCounts = z.infer<typeof BackupFooter>["rows"];

/** A backup that is being read. */
export interface Backup {
  readonly identity: StoreIdentity;
  /** When the backup was started, in ISO 8601 format. */
  readonly createdAt: string;
  /** The rows. Whether they are valid is known only after all of them have been read. */
  readonly batches: AsyncIterable<readonly DumpRow[]>;
  /** The fraction that was read, from 0 to 1. @param rows Number of rows that were read. */
  fraction(rows: number): number;
  /** Stops reading before the end. */
  close(): unknown;
}

/** The content from which a backup is written. */
interface BackupContent {
  readonly identity: StoreIdentity;
  /** When the backup was started, in ISO 8601 format. */
  readonly createdAt: string;
  readonly batches: AsyncIterable<readonly DumpRow[]>;
}

/**
 * Encodes a backup as text: a header line, one line per row, and a footer line with the row counts
 * and the hash of all lines before it. Each line is JSON.
 *
 * @param onRows Called with the row counts so far.
 * @throws {Error} If a row is too long to be read back; the message identifies the row.
 */
export async function* encodeBackup(
  { identity, createdAt, batches }: BackupContent,
  onRows: (rows: RowCounts) => void,
): AsyncGenerator<string> {
  const hash = createHash("sha256");
  const rows = { record: 0, archive: 0 };
  const header: BackupHeader = {
    format: BACKUP_FORMAT,
    version: BACKUP_VERSION,
    storeId: identity.id,
    mode: identity.mode,
    createdAt,
  };
  let text = lineOf(header);
  for await (const batch of batches) {
    for (const row of batch) {
      rows[row.table] += 1;
      text += lineOf(row);
      if (text.length < CHUNK_LENGTH) continue;
      hash.update(text);
      yield text;
      text = "";
    }
    onRows(rows);
  }
  hash.update(text);
  yield `${text}${JSON.stringify({ rows, sha256: hash.digest("hex") })}\n`;
}

function lineOf(value: BackupHeader | DumpRow): string {
  const text = JSON.stringify(value);
  if (Buffer.byteLength(text) <= MAX_LINE_BYTES) return `${text}\n`;
  throw new Error(`The row ${nameOf(value)} is longer than 64 MiB, which no backup can hold.`);
}

function nameOf(value: BackupHeader | DumpRow): string {
  if (!("table" in value)) return value.format;
  return value.table === "record"
    ? `${value.collection}/${value.key}`
    : `${value.kind}/${value.id}`;
}

/**
 * Reads a backup. The rows are validated while they are read.
 *
 * @param name Name of the file, for messages.
 * @throws {Error} If a line, the counts or the hash are damaged, either immediately or while the
 * rows are read. The message gives the line number.
 */
export async function decodeBackup(
  lines: AsyncGenerator<Buffer>,
  name: string,
): Promise<Omit<Backup, "fraction">> {
  const first = await lines.next();
  if (first.done) throw damaged(name, 1, "the file is empty");
  const content = parsed(first.value);
  if (isOfFormat1(content)) {
    throw new Error(
      `${name} was written before version 1.0.0. Restore it with version 1.0.0, start that once, and write a new backup. Nothing was changed.`,
    );
  }
  const header = BackupHeader.safeParse(content);
  if (!header.success) throw damaged(name, 1, `no backup of a store: ${why(header.error)}`);
  const { storeId: id, mode, createdAt } = header.data;
  const hash = createHash("sha256").update(first.value).update("\n");
  return {
    identity: { id, mode },
    createdAt,
    batches: decodeRows(lines, name, hash),
    close: () => lines.return(undefined),
  };
}

/** Whether the first line of a file is the header of a backup of a version before 1.0.0. */
function isOfFormat1(header: unknown): boolean {
  const { format, version } = (header ?? {}) as Readonly<Record<string, unknown>>;
  return format === BACKUP_FORMAT && version === 1;
}

/**
 * The rows of the lines after the header.
 *
 * @param hash Running hash of the lines read so far, including the header.
 */
async function* decodeRows(
  lines: AsyncIterator<Buffer>,
  name: string,
  hash: Hash,
): AsyncGenerator<readonly DumpRow[]> {
  const next = rowReader(name, hash);
  let batch: DumpRow[] = [];
  let bytes = 0;
  let number = 2;
  for (; ; number += 1) {
    const { value: line, done } = await lines.next();
    if (done) throw damaged(name, number, "the file ends before its last line: it was cut off");
    const row = next(line, number);
    if (row === undefined) break;
    batch.push(row);
    bytes += line.length;
    if (batch.length < BATCH_ROWS && bytes < BATCH_BYTES) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
  if (!(await lines.next()).done) throw damaged(name, number + 1, "a line after the last one");
}

/**
 * Creates a function that parses the next line.
 *
 * @returns A function that returns a row, or `undefined` for a footer that matches the lines before
 * it.
 */
function rowReader(name: string, hash: Hash) {
  const rows = { record: 0, archive: 0 };
  return (line: Buffer, number: number): DumpRow | undefined => {
    const value = parsed(line);
    if (isFooter(value)) {
      const fault = footerFault(value, { rows, sha256: hash.digest("hex") });
      if (fault !== undefined) throw damaged(name, number, fault);
      return undefined;
    }
    const row = Row.safeParse(value);
    if (!row.success) throw damaged(name, number, why(row.error));
    rows[row.data.table] += 1;
    hash.update(line).update("\n");
    return row.data;
  };
}

function isFooter(value: unknown): boolean {
  return typeof value === "object" && value !== null && "sha256" in value;
}

function footerFault(value: unknown, actual: z.infer<typeof BackupFooter>): string | undefined {
  const { success, data, error } = BackupFooter.safeParse(value);
  if (!success) return why(error);
  const { record, archive } = data.rows;
  if (record !== actual.rows.record || archive !== actual.rows.archive) {
    return `it counts ${record} records and ${archive} archive rows, there are ${actual.rows.record} and ${actual.rows.archive}`;
  }
  return data.sha256 === actual.sha256 ? undefined : "the hash of the lines before it differs";
}

function damaged(name: string, line: number, what: string): Error {
  return new Error(`${name}, line ${line}: ${what}. Nothing was changed; use another backup.`);
}

function why(error: z.ZodError): string {
  const [issue] = error.issues;
  return `${issue?.path.join(".") || "the line"}: ${issue?.message ?? "is not valid"}`;
}

/**
 * Parses a line.
 *
 * @returns `undefined` if the line is not JSON; every schema rejects `undefined`.
 */
function parsed(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString("utf8"));
  } catch {
    return undefined;
  }
}
