import { constants } from "node:fs";
import { type FileHandle, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { DAY_MS, utcDay } from "../../lib/day.ts";
import { sessionOf } from "../../market/calendar.ts";
import type { Instrument } from "../../market/instrument.ts";
import type { Market } from "../../market/market.ts";
import { newYorkDate, newYorkInstant } from "../../market/new-york.ts";
import { countKnownRecords } from "../../market/point-in-time.ts";
import type { InstrumentRecords, PointInTimeRecord, RecordList } from "../../market/records.ts";
import { readBars } from "./bars.ts";
import type { TextFile } from "./csv-table.ts";
import { readOnChain, readShortVolumes } from "./daily-figures.ts";
import { dataError, type OnRefused, unlessRefused } from "./data-error.ts";
import { readFundamentals } from "./fundamentals.ts";
import { readInstruments } from "./instruments.ts";
import { readMentions } from "./mentions.ts";
import { readPrints } from "./prints.ts";
import {
  createBarsDue,
  createPublicationCalendar,
  type PublicationCalendar,
} from "./publication-calendar.ts";

/** Name of the file that lists the instruments. */
export const INSTRUMENTS = "instruments.csv";

/**
 * The subfolders of a market folder, each with the extension of its files; a subfolder has one file
 * per symbol.
 */
export const FOLDERS = {
  bars: ".csv",
  fundamentals: ".csv",
  mentions: ".jsonl",
  prints: ".csv",
  offexchange: ".csv",
  onchain: ".csv",
} as const;
export type FolderName = keyof typeof FOLDERS;

/** Options of `readMarketFolder`. */
export interface ReadOptions {
  /**
   * Records that become known after this instant (Unix milliseconds) are validated, then dropped.
   */
  readonly until?: number;
  /**
   * Called after each instrument, with the number of instruments read so far and the total number.
   */
  readonly onProgress?: (done: number, total: number) => void;
  /** Told of every invalid row and file, which are left out. Absent: the first one is thrown. */
  readonly onRefused?: OnRefused | undefined;
}

/**
 * Reads a whole market folder into memory: instruments.csv and, by symbol, bars, fundamentals,
 * mentions, prints, offexchange and onchain. A missing file, or a file whose first record becomes
 * known after `until`, means that the instrument has no such feed.
 *
 * @throws {Error} With file and line, at the first invalid item; nothing is skipped unless
 * `onRefused` is told.
 */
export async function readMarketFolder(
  folder: string,
  { until = Number.POSITIVE_INFINITY, onProgress, onRefused }: ReadOptions = {},
): Promise<Market> {
  // Sorted independently of the file order, since the last digits of sums over a class depend on
  // the order.
  const instruments = readInstruments({ ...(await openInstruments(folder)), onRefused }).sort(
    (one, other) => (one.symbol < other.symbol ? -1 : 1),
  );
  const present = await knownFiles(folder, instruments, onRefused);
  const calendar = createPublicationCalendar();
  const records: InstrumentRecords[] = [];
  // The files of the next instrument are read while the files of the current instrument are parsed.
  let opening = openFiles(instruments[0], present);
  for (const [index, instrument] of instruments.entries()) {
    const files = await opening;
    opening = openFiles(instruments[index + 1], present);
    // Avoids an unhandled rejection: a read error is thrown when its instrument is reached, unless
    // parsing fails earlier.
    opening.catch(() => undefined);
    records.push(readInstrument(instrument, files, { calendar, until, onRefused }));
    onProgress?.(records.length, instruments.length);
  }
  return {
    mode: "files",
    source: {
      id: "market-folder",
      name: "Market folder",
      terms: "Recorded data of the operator, who answers for their licenses.",
      simulated: false,
    },
    dayMs: DAY_MS,
    recordsUntil: () => records,
    barsDue: createBarsDue(calendar),
    sessionAt: (at, assetClass) => (assetClass === "crypto" ? utcDay(at) : sessionOf(at)),
    servedFrom: createServedFrom(),
  };
}

/**
 * Creates `Market.servedFrom` of a folder. It is called at every close, so the bounds of the last
 * calendar year are cached.
 */
function createServedFrom(): Market["servedFrom"] {
  const startOf = (year: number) => newYorkInstant(`${year}-01-01`, "00:00");
  const yearOf = (at: number) => {
    const year = Number(newYorkDate(at).slice(0, 4));
    return { before: startOf(year - 1), startsAt: startOf(year), endsAt: startOf(year + 1) };
  };
  let last: ReturnType<typeof yearOf> | undefined;
  return (at) => {
    if (last === undefined || at < last.startsAt || at >= last.endsAt) last = yearOf(at);
    return last.before;
  };
}

async function openInstruments(folder: string): Promise<TextFile> {
  const path = join(folder, INSTRUMENTS);
  const file = await readText(path);
  if (file !== undefined) return file;
  const expected = "a market folder has one; check MARKET=files:<folder>";
  throw dataError({ file: path }, "there is no such file", expected);
}

/** Paths of the files of a market folder, by symbol and subfolder. */
type FilesBySymbol = ReadonlyMap<string, ReadonlyMap<FolderName, string>>;

/**
 * Lists the files of a market folder.
 *
 * @throws {Error} For a file whose symbol is not in instruments.csv, since the symbol may be a
 * typo.
 */
async function knownFiles(
  folder: string,
  instruments: readonly Instrument[],
  onRefused: OnRefused | undefined,
): Promise<FilesBySymbol> {
  const files = new Map(instruments.map(({ symbol }) => [symbol, new Map<FolderName, string>()]));
  for (const [name, ending] of Object.entries(FOLDERS) as [FolderName, string][]) {
    for (const entry of await list(join(folder, name))) {
      const file = join(folder, name, entry);
      unlessRefused(() => {
        const known = entry.endsWith(ending) && files.get(entry.slice(0, -ending.length));
        if (known) return known.set(name, file);
        const wrong = `no symbol of ${INSTRUMENTS} has this name`;
        throw dataError({ file }, wrong, `files here are called SYMBOL${ending}`);
      }, onRefused);
    }
  }
  return files;
}

/** The files of one instrument in memory, by subfolder; `undefined` for a missing file. */
type OpenedFiles = ReadonlyMap<FolderName, TextFile | undefined>;

async function openFiles(
  instrument: Instrument | undefined,
  present: FilesBySymbol,
): Promise<OpenedFiles> {
  const paths = [...(present.get(instrument?.symbol ?? "") ?? [])];
  const read = async ([name, path]: [FolderName, string]) => [name, await readText(path)] as const;
  return new Map(await Promise.all(paths.map(read)));
}

interface ReadContext {
  readonly calendar: PublicationCalendar;
  readonly until: number;
  readonly onRefused: OnRefused | undefined;
}

function readInstrument(
  instrument: Instrument,
  files: OpenedFiles,
  { calendar, until, onRefused }: ReadContext,
): InstrumentRecords {
  const cut = <R extends PointInTimeRecord>(
    all: RecordList<R> | undefined,
  ): RecordList<R> | undefined => {
    const count = all === undefined ? 0 : countKnownRecords(all, until);
    if (count === 0) return undefined;
    return count === all?.length ? all : all?.slice(0, count);
  };
  const open = <T>(name: FolderName, reader: (file: TextFile) => T): T | undefined => {
    const file = files.get(name);
    return file && unlessRefused(() => reader({ ...file, onRefused }), onRefused);
  };
  const read = <R extends PointInTimeRecord>(name: FolderName, reader: (file: TextFile) => R[]) =>
    cut(open(name, reader));
  const checked = open("bars", (file) => readBars(file, instrument.assetClass, calendar));
  const doubtedBars = cut(checked?.doubts);
  const fundamentals = read("fundamentals", (file) => readFundamentals(file, calendar));
  const mentions = read("mentions", readMentions);
  const { assetClass } = instrument;
  const prints = read("prints", (file) => readPrints(file, assetClass, calendar));
  const shortVolumes = read("offexchange", (file) => readShortVolumes(file, calendar));
  const onChain = read("onchain", (file) => readOnChain(file, calendar));
  return {
    instrument,
    bars: cut(checked?.bars) ?? [],
    ...(doubtedBars && { doubtedBars }),
    ...(fundamentals && { fundamentals }),
    ...(mentions && { mentions }),
    ...(prints && { prints }),
    ...(shortVolumes && { shortVolumes }),
    ...(onChain && { onChain }),
  };
}

/** Maximum size of a file in bytes; the largest of one symbol over 20 years has some 10 MB. */
const MAX_FILE_BYTES = 256 * 1024 * 1024;

/** Opens a file without waiting for the other end of a pipe. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/**
 * Reads a text file; `undefined` if there is none. A link is followed, but a pipe or a device,
 * which may have no end, is not read.
 */
async function readText(path: string): Promise<TextFile | undefined> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, FLAGS);
    const found = await file.stat();
    if (!found.isFile()) throw new Error("it is no plain file");
    if (found.size > MAX_FILE_BYTES) throw new Error(`it has more than ${MAX_FILE_BYTES} bytes`);
    return { path, content: await file.readFile("utf8") };
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw unreadable(path, error);
  } finally {
    await file?.close();
  }
}

/** The names of the files in a folder, except hidden files; empty if the folder does not exist. */
async function list(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => !name.startsWith("."));
  } catch (error) {
    if (isMissing(error)) return [];
    throw unreadable(folder, error);
  }
}

/** The error for a file or folder that exists but cannot be read. */
const unreadable = (path: string, error: unknown): Error =>
  dataError(
    { file: path },
    `cannot be read (${(error as Error).message})`,
    "let this user read it, or check MARKET=files:<folder>",
  );

const isMissing = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ENOENT";
