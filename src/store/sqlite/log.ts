import { closeSync, fstatSync, openSync, readSync, statSync, truncateSync } from "node:fs";
import { PAGE_BYTES, type StoreFile } from "./file.ts";
import { logOf, syncFile } from "./folder.ts";

/**
 * Sizes and marks of a write-ahead log: a header, then frames of a header and a page
 * (https://www.sqlite.org/fileformat2.html#the_write_ahead_log).
 */
const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const LITTLE_ENDIAN_SUMS = 0x377f0682;
const BIG_ENDIAN_SUMS = 0x377f0683;

/** The running sum of a log. */
type Sum = readonly [number, number];

/** Adds words to a running sum, two at a time. */
type Summer = (bytes: Buffer, from: Sum) => Sum;

interface LogHeader {
  /** Random numbers of this round of the log; what is left of earlier rounds has others. */
  readonly salts: Buffer;
  readonly pageBytes: number;
  readonly sum: Sum;
  readonly summer: Summer;
}

/** A frame as it stands in the file. */
interface Frame {
  /** Whether its sum goes on from the sum that the frame before it carries. */
  readonly isNext: boolean;
  /** Whether a transaction ends with it. */
  readonly isCommit: boolean;
  readonly sum: Sum;
}

/**
 * Looks for damage that no crash leaves. SQLite takes a log up to the first frame that does not
 * check and forgets the rest without a word, as it must after a power cut: what was not synced may
 * be torn. But the header is synced before the first frame is written, and each transaction before
 * the next one is begun. So these are damage:
 *
 * - a header that does not check in front of frames;
 * - a frame that does not check, when two transactions or more end in an unbroken run behind it.
 *
 * What is not found looks like the end of a crash, or of a good stop: a log that was cut off or
 * taken away, and a flipped bit within the last two transactions.
 *
 * @returns What is wrong; nothing when the log is whole or torn at its end.
 */
export function faultOfLog(path: string): string | undefined {
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

/** The salts and the sum itself are not summed. */
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

/** Bytes at a place; fewer at the end of the file. */
function bytesAt(file: number, at: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  return bytes.subarray(0, readSync(file, bytes, 0, length, at));
}

/** Whether anything was written behind the header; a file that grew and was not synced is zero. */
function hasContents(file: number, size: number): boolean {
  const step = 2 ** 16;
  for (let at = HEADER_BYTES; at < size; at += step) {
    if (bytesAt(file, at, step).some((byte) => byte !== 0)) return true;
  }
  return false;
}

/**
 * Takes out of the log of a file what stands behind the last transaction that was done: one that was
 * refused because it could not be synced may be there as a whole, and the next start would take it
 * for done.
 *
 * @throws {Error} When the disk does not let it.
 */
export function cutLog({ database, path }: StoreFile): void {
  // NOOP writes nothing back; it only tells how many frames of the log count.
  const frames = Number(database.prepare("PRAGMA wal_checkpoint(NOOP)").get()?.log);
  if (!(frames >= 0)) throw new Error(`${path} does not say how long its log is`);
  const bytes = frames === 0 ? 0 : HEADER_BYTES + frames * (FRAME_HEADER_BYTES + PAGE_BYTES);
  const log = logOf(path);
  if (statSync(log).size <= bytes) return;
  truncateSync(log, bytes);
  syncFile(log);
}
