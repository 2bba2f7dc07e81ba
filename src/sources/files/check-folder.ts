import { readdir } from "node:fs/promises";
import { relative } from "node:path";
import { utcDay } from "../../lib/day.ts";
import type { Market } from "../../market/market.ts";
import type { InstrumentRecords, PointInTimeRecord, RecordList } from "../../market/records.ts";
import { DataError } from "./data-error.ts";
import {
  FOLDERS,
  type FolderName,
  INSTRUMENTS,
  type ReadOptions,
  readMarketFolder,
} from "./market-folder.ts";

/** Maximum number of refused rows and of doubted bars that a check lists; all are counted. */
const MAX_LISTED = 1_000;

/** A row or file that cannot be read. */
interface RefusedData {
  /** Path below the market folder. */
  readonly file: string;
  /** Line, counted from 1; `null` if the file as a whole is wrong. */
  readonly line: number | null;
  readonly reason: string;
  /** Description of valid data. */
  readonly expected: string;
}

/** A bar that looks wrong, which is dropped or was confirmed by the next one. */
interface DoubtedBar {
  readonly symbol: string;
  readonly session: string;
  readonly detail: string;
  /** `confirmed` or `dropped`; `undecided` for the newest bar. */
  readonly outcome: string;
}

/** Records that were read of one kind of file. */
interface FeedCount {
  /** Number of instruments that have at least one. */
  readonly instruments: number;
  readonly records: number;
  /** First and last date; `null` without records. */
  readonly from: string | null;
  readonly to: string | null;
}

/** A list of which at most `MAX_LISTED` items are kept. */
interface Counted<T> {
  readonly count: number;
  readonly listed: readonly T[];
}

/** What was found in a market folder. */
export interface FolderCheck {
  /** The accepted rows; `undefined` if instruments.csv cannot be read. */
  readonly market: Market | undefined;
  readonly feeds: Readonly<Record<FolderName, FeedCount>>;
  readonly refused: Counted<RefusedData>;
  readonly doubted: Counted<DoubtedBar>;
  /** Files and folders beside the known ones, which are not read. */
  readonly unread: readonly string[];
}

/**
 * Reads a whole market folder and lists all that is invalid, where the service stops at the first.
 */
export async function checkMarketFolder(
  folder: string,
  { onProgress }: Pick<ReadOptions, "onProgress"> = {},
): Promise<FolderCheck> {
  const listed: RefusedData[] = [];
  let count = 0;
  const onRefused = ({ place, wrong, expected }: DataError): void => {
    count += 1;
    const file = relative(folder, place.file);
    if (listed.length < MAX_LISTED) {
      listed.push({ file, line: place.line ?? null, reason: wrong, expected });
    }
  };
  const market = await readMarketFolder(folder, {
    onRefused,
    ...(onProgress && { onProgress }),
  }).catch((error: unknown) => {
    if (!(error instanceof DataError)) throw error;
    onRefused(error);
    return undefined;
  });
  const records = market?.recordsUntil(Number.POSITIVE_INFINITY) ?? [];
  return {
    market,
    feeds: {
      bars: feedCount(records, ({ bars }) => bars),
      fundamentals: feedCount(records, ({ fundamentals }) => fundamentals),
      mentions: feedCount(records, ({ mentions }) => mentions),
      prints: feedCount(records, ({ prints }) => prints),
      offexchange: feedCount(records, ({ shortVolumes }) => shortVolumes),
      onchain: feedCount(records, ({ onChain }) => onChain),
    },
    refused: { count, listed },
    doubted: doubtedBars(records),
    unread: market === undefined ? [] : await unreadIn(folder),
  };
}

function feedCount(
  all: readonly InstrumentRecords[],
  listOf: (records: InstrumentRecords) => RecordList<PointInTimeRecord> | undefined,
): FeedCount {
  const lists = all.flatMap((records) => {
    const list = listOf(records);
    return list === undefined || list.length === 0 ? [] : [list];
  });
  const dates = lists.flatMap((list) => [dateOf(list.at(0)), dateOf(list.at(-1))]).sort();
  return {
    instruments: lists.length,
    records: lists.reduce((sum, { length }) => sum + length, 0),
    from: dates.at(0) ?? null,
    to: dates.at(-1) ?? null,
  };
}

/** The session of a record, or else the UTC day on which it became known. */
function dateOf(record: (PointInTimeRecord & { readonly session?: string }) | undefined): string {
  return record?.session ?? utcDay(record?.availableAt ?? 0);
}

function doubtedBars(all: readonly InstrumentRecords[]): Counted<DoubtedBar> {
  const doubted = all.flatMap(({ instrument, doubtedBars: doubts = [] }) =>
    Array.from(doubts, ({ session, detail, outcome }) => ({
      symbol: instrument.symbol,
      session,
      detail,
      outcome: outcome?.verdict ?? "undecided",
    })),
  );
  return { count: doubted.length, listed: doubted.slice(0, MAX_LISTED) };
}

async function unreadIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder);
  const isKnown = (name: string) => name === INSTRUMENTS || name in FOLDERS || name.startsWith(".");
  return entries.filter((name) => !isKnown(name)).sort();
}
