import { closeSync, fstatSync, openSync, readSync, statSync, truncateSync } from "node:fs";
import { syncFile, walPathOf } from "./folder.ts";
import { PAGE_BYTES, type StoreFile } from "./store-file.ts";

/**
 * Sizes and magic numbers of SQLite's write-ahead log, which is a header followed by frames, each
 * with a frame header and a page (https://www.sqlite.org/fileformat2.html#the_write_ahead_log).
 */
const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const LITTLE_ENDIAN_SUMS = 0x377f0682;
const BIG_ENDIAN_SUMS = 0x377f0683;

/** The running checksum of a log: two 32-bit words. */
type Sum = readonly [number, number];

/** Adds bytes to a running checksum, two 32-bit words at a time. */
type Summer = (bytes: Buffer, from: Sum) => Sum;

interface LogHeader {
  /**
   * Random numbers of the current generation of the log. Frames left over from earlier generations
   * have different salts.
   */
  readonly salts: Buffer;
  readonly pageBytes: number;
  readonly sum: Sum;
  readonly summer: Summer;
}

/** A frame of the log, which contains one page. */
interface Frame {
  /** Whether the frame's checksum continues that of the previous frame. */
  readonly isNext: boolean;
  /** Whether the frame ends a transaction. */
  readonly isCommit: boolean;
  readonly sum: Sum;
}

/**
 * Detects log damage that a crash cannot cause. SQLite accepts a log up to the first invalid frame
 * and silently ignores the rest, because unsynced writes may be torn after a power failure.
 * However, the header is synced before the first frame is written, and each transaction is synced
 * before the next one begins. The following are therefore damage:
 *
 * - an invalid header followed by frames;
 * - an invalid frame followed by two or more transactions in an unbroken run.
 *
 * A truncated or missing log, and a flipped bit within the last two transactions, are not detected,
 * because a crash or a clean stop looks the same.
 *
 * @returns Description of the damage; `undefined` if the log is intact or only torn at its end.
 */
export function walFault(path: string): string | undefined {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    const header = headerOf(bytesAt(file, 0, HEADER_BYTES));
    if (header !== undefined) return faultOfFrames(file, size, header);
    return hasContents(file, size) ? "its header is not as it was written" : undefined;
  } finally {
    closeSync(file);
  }
}

function faultOfFrames(file: number, size: number, header: LogHeader): string | undefined {
  const frameBytes = FRAME_HEADER_BYTES + header.pageBytes;
  let before: Sum = header.sum;
  let isBroken = false;
  let commits = 0;
  for (let at = HEADER_BYTES; at + frameBytes <= size; at += frameBytes) {
    const { isNext, isCommit, sum } = frameOf(bytesAt(file, at, frameBytes), before, header);
    if (!isNext) [isBroken, commits] = [true, 0];
    else if (isBroken && isCommit && ++commits === 2) return "a frame is not as it was written";
    before = sum;
  }
  return undefined;
}

function frameOf(bytes: Buffer, before: Sum, { salts, summer }: LogHeader): Frame {
  const sum = sumAt(bytes, 16);
  const hasSalts = bytes.subarray(8, 16).equals(salts);
  return {
    isNext: hasSalts && isSame(sum, contentSum(bytes, before, summer)),
    isCommit: bytes.readUInt32BE(4) !== 0,
    sum,
  };
}

/**
 * The running checksum after a frame, continued from the checksum before the frame. It covers the
 * page and the first 8 bytes of the frame header, but not the salts or the checksum itself.
 */
function contentSum(bytes: Buffer, before: Sum, summer: Summer): Sum {
  return summer(bytes.subarray(FRAME_HEADER_BYTES), summer(bytes.subarray(0, 8), before));
}

function headerOf(bytes: Buffer): LogHeader | undefined {
  if (bytes.length < HEADER_BYTES) return undefined;
  const magic = bytes.readUInt32BE(0);
  if (magic !== LITTLE_ENDIAN_SUMS && magic !== BIG_ENDIAN_SUMS) return undefined;
  const summer = magic === BIG_ENDIAN_SUMS ? bigEndianSum : littleEndianSum;
  const sum = sumAt(bytes, 24);
  if (!isSame(sum, summer(bytes.subarray(0, 24), [0, 0]))) return undefined;
  return { salts: bytes.subarray(16, 24), pageBytes: bytes.readUInt32BE(8), sum, summer };
}

const littleEndianSum: Summer = (bytes, from) =>
  summed(from, bytes.length, (at) => bytes.readUInt32LE(at));

const bigEndianSum: Summer = (bytes, from) =>
  summed(from, bytes.length, (at) => bytes.readUInt32BE(at));

function summed([first, second]: Sum, length: number, wordAt: (at: number) => number): Sum {
  let [one, two] = [first, second];
  for (let at = 0; at < length; at += 8) {
    one = (one + wordAt(at) + two) >>> 0;
    two = (two + wordAt(at + 4) + one) >>> 0;
  }
  return [one, two];
}

function sumAt(bytes: Buffer, at: number): Sum {
  return [bytes.readUInt32BE(at), bytes.readUInt32BE(at + 4)];
}

function isSame(a: Sum, b: Sum): boolean {
  return a[0] === b[0] && a[1] === b[1];
}

/** Reads bytes at an offset; fewer than requested at the end of the file. */
function bytesAt(file: number, at: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  return bytes.subarray(0, readSync(file, bytes, 0, length, at));
}

/**
 * Whether the log has non-zero bytes after its header. A file that grew without a sync contains
 * zeros there.
 */
function hasContents(file: number, size: number): boolean {
  const step = 2 ** 16;
  for (let at = HEADER_BYTES; at < size; at += step) {
    if (bytesAt(file, at, step).some((byte) => byte !== 0)) return true;
  }
  return false;
}

/**
 * Truncates a log after its last completed transaction. A transaction that was rejected because its
 * sync failed may be complete in the log, and the next start would then accept it.
 *
 * @throws {Error} If the disk does not allow truncation.
 */
export function truncateWal({ database, path }: StoreFile): void {
  // The mode NOOP writes nothing back and only reports the number of valid frames.
  const frames = Number(database.prepare("PRAGMA wal_checkpoint(NOOP)").get()?.log);
  if (!(frames >= 0)) throw new Error(`${path} does not say how long its log is`);
  const bytes = frames === 0 ? 0 : HEADER_BYTES + frames * (FRAME_HEADER_BYTES + PAGE_BYTES);
  const log = walPathOf(path);
  if (statSync(log).size <= bytes) return;
  truncateSync(log, bytes);
  syncFile(log);
}
