import { randomUUID } from "node:crypto";
import type { Feed } from "../market/records.ts";
import { neutralText } from "../outbound/neutral-text.ts";
import type { Observation, Rejected } from "../sources/live/provider.ts";
import type { ArchiveRow } from "../store/port/archive.ts";
import { announce, put } from "../store/port/operations.ts";
import { collection, type Operation } from "../store/port/records.ts";
import type { Store } from "../store/port/store.ts";

/** Kind of the rows of a feed. */
export const kindOf = (feed: Feed): string => `market-${feed}`;

/** Kind of the rows of what cannot be true. */
export const REJECTED_KIND = "market-rejected";

const DAY_MS = 86_400_000;

/** Nothing is followed that is older, in milliseconds. */
const OLDEST_MS = 10 * 365 * DAY_MS;

/** Messages, prints and what cannot be true are many, and no score looks back that far for them. In
 *  milliseconds. */
const KEPT_MS = 400 * DAY_MS;

/** How long rows are kept that do not stay for ever, in milliseconds by their kind. */
export const ROWS_KEPT_MS: Readonly<Record<string, number>> = {
  [kindOf("mentions")]: KEPT_MS,
  [kindOf("prints")]: KEPT_MS,
  [REJECTED_KIND]: KEPT_MS,
};

/** What a row says beside where it stands. */
export interface ObservationBody {
  /** Who gave it. */
  readonly provider: string;
  /** When it was here, Unix milliseconds. */
  readonly observedAt: number;
  readonly record: Observation["record"];
}

/** What a row says of what cannot be true. */
export interface RejectedBody extends Pick<Rejected, "feed" | "symbol" | "reason" | "close"> {
  readonly provider: string;
  /** When it was here, Unix milliseconds. */
  readonly observedAt: number;
}

/** Who gave something, and when it was here (Unix milliseconds). */
interface Provenance {
  readonly provider: string;
  readonly observedAt: number;
}

/** Most characters of an id that a provider gave. */
const MAX_ID = 200;

/** Why a datum cannot be kept by its name, which is the provider's; `undefined` when it can. */
export const idFault = (id: string): string | undefined =>
  id.length <= MAX_ID && neutralText(id) === id
    ? undefined
    : "its id is too long, or has characters that no text has";

/** A datum as it is kept. */
export const rowOf = ({ feed, symbol, at, id, record }: Observation, given: Provenance): ArchiveRow => ({
  kind: kindOf(feed),
  at,
  id: `${symbol} ${id}`,
  subject: symbol,
  body: { ...given, record } satisfies ObservationBody,
});

/** What the rows of what cannot be true are about: those of one feed do not hide another's. */
export const rejectedSubject = ({ feed, symbol }: Pick<Rejected, "feed" | "symbol">): string =>
  `${symbol} ${feed}`;

/** What cannot be true, as it is kept. */
export const rejectedRow = (rejected: Rejected, given: Provenance): ArchiveRow => {
  const { feed, symbol, at, id, reason, close } = rejected;
  return {
    kind: REJECTED_KIND,
    at: plausible(at, given.observedAt),
    id: `${given.provider} ${feed} ${symbol} ${neutralText(id.slice(0, MAX_ID))}`,
    subject: rejectedSubject(rejected),
    body: {
      ...{ ...given, feed, symbol, reason },
      ...(close !== undefined && { close }),
    } satisfies RejectedBody,
  };
};

/** When it was, or else the day it was seen: any instant may be claimed, and the archive is kept by
 *  month. */
const plausible = (at: number, observedAt: number): number =>
  at <= observedAt && at > observedAt - OLDEST_MS ? at : observedAt - (observedAt % DAY_MS);

/** Topic that wakes whoever follows the news. */
export const NOTICE_TOPIC = "market-data";

/**
 * What is new, by the revision of its record: whoever was away reads on from the last one it saw,
 * whatever was announced meanwhile.
 */
export const noticeRecords = collection<NoticeBatch>("ingest-news");

/** How long news are kept, in milliseconds; whoever was away for longer reads everything again. */
export const NOTICE_TTL_MS = 1_800_000;

/** The same where nobody else reads them: every answer makes some, up to 20 a second. */
const NOTICE_TTL_ALONE_MS = 300_000;

/** How long news are kept in a store, in milliseconds. */
export const noticeTtlMs = (engine: Store["engine"] | undefined): number =>
  engine === "embedded" ? NOTICE_TTL_ALONE_MS : NOTICE_TTL_MS;

/** Symbols up to which each is read by name; for more, rows of all symbols are. */
const MAX_NAMED = 25;

/**
 * Rows of these feeds that are further apart, in milliseconds, are told of apart: a message that is
 * dated back by a day must not make anybody read that whole day again.
 */
const APART_MS: Readonly<Partial<Record<Feed, number>>> = { mentions: 600_000, prints: 600_000 };

/** Rows of a feed that may be new: of one symbol or, `null`, of any, within a span. */
export interface ChangeNotice {
  readonly feed: Feed;
  readonly symbol: string | null;
  /** Earliest instant, included; Unix milliseconds. */
  readonly from: number;
  /** Latest instant, included; Unix milliseconds. */
  readonly to: number;
}

/** News of one answer. */
interface NoticeBatch {
  readonly news: readonly ChangeNotice[];
  /** When it was here by the clock of who asked, Unix milliseconds. */
  readonly observedAt: number;
}

/**
 * Tells every process of data, also of those that were there before: they may have been written
 * right before a kill, so that nobody was told. Reading them costs no more than writing them.
 *
 * @param told When they were here (Unix milliseconds), and for how many milliseconds that is news.
 */
export function announceChanges(
  data: readonly Observation[],
  { observedAt, keptMs }: { readonly observedAt: number; readonly keptMs: number },
): readonly Operation[] {
  if (data.length === 0) return [];
  const value = { news: noticesOf(data), observedAt };
  const key = randomUUID();
  return [put(noticeRecords, { key, value, ttlMs: keptMs }), announce(NOTICE_TOPIC)];
}

/** What is to be read again after some data came. */
export function noticesOf(data: readonly Observation[]): readonly ChangeNotice[] {
  const isNamed = new Set(data.map(({ symbol }) => symbol)).size <= MAX_NAMED;
  return merged(
    data.map(({ feed, symbol, at }) => ({
      ...{ feed, symbol: isNamed ? symbol : null, from: at, to: at },
    })),
  );
}

/** The same rows in as few spans as may be. */
export function merged(news: readonly ChangeNotice[]): readonly ChangeNotice[] {
  const groups = Map.groupBy(news, ({ feed, symbol }) => `${feed} ${symbol ?? ""}`);
  return [...groups.values()].flatMap(spansOf);
}

/** Spans of one feed and symbol, those that lie together as one. */
function spansOf(group: readonly ChangeNotice[]): readonly ChangeNotice[] {
  const spans: ChangeNotice[] = [];
  for (const one of group.toSorted((a, b) => a.from - b.from)) {
    const last = spans.at(-1);
    const isApart = last === undefined || one.from - last.to > (APART_MS[one.feed] ?? Infinity);
    if (isApart) spans.push(one);
    else spans[spans.length - 1] = { ...last, to: Math.max(last.to, one.to) };
  }
  return spans;
}
