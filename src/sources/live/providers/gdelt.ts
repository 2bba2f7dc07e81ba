import { z } from "zod";
import { readCursor } from "../cursor.ts";
import { ProviderFault } from "../fault.ts";
import { MESSAGE_HISTORY_MS, messageObservations, messageText, pseudonym } from "../message.ts";
import { type NewsTopic, newsTopic } from "../news-topic.ts";
import type { ParsedResponse, PolledProvider, ProviderSeries } from "../provider.ts";
import { type ProviderResponse, parseJsonBody, quoted } from "../provider-response.ts";

/** Maximum number of articles in a response. */
const MAX_ARTICLES = 250;

/** Minimum time between two requests that GDELT requires, in milliseconds. */
const EVERY_MS = 5_000;

/**
 * Interval at which GDELT scans the world's news, in milliseconds; articles are dated by the scan.
 */
const ROUND_MS = 15 * 60_000;

/** Minimum time between two requests for an instrument, in milliseconds. */
const MIN_PERIOD_MS = 3_600_000;

const Found = z.looseObject({
  articles: z
    .array(
      z.looseObject({
        url: z.string().min(1),
        title: z.string(),
        seendate: z.string().regex(/^\d{8}T\d{6}Z$/),
      }),
    )
    .max(MAX_ARTICLES),
});

/** The response is an empty object if nothing was found. */
const Articles = z.union([z.strictObject({}).transform(() => ({ articles: [] })), Found]);

/** Cursor with the instant before which all articles have been read, Unix milliseconds. */
const Cursor = z.object({ from: z.int() });

/**
 * Headlines of the world's online news, as found by GDELT. An article has to contain the legal name
 * of a company, or a coin name with no other meaning, and mention the company or coin in the
 * headline. A publisher is not an author, so these messages have no author.
 */
export const gdelt: PolledProvider = {
  kind: "polled",
  id: "gdelt",
  name: "GDELT Project",
  terms:
    "GDELT DOC 2.0: free for any use with a reference to the GDELT Project and its address, https://www.gdeltproject.org/; headlines belong to their publishers.",
  isForOwnUse: false,
  origin: "https://api.gdeltproject.org",
  feeds: ["mentions"],
  classes: ["stock", "crypto"],
  needs: [],
  budget: { requests: 1, perMs: EVERY_MS },
  series({ instruments, historyFrom }) {
    const periodMs = Math.max(MIN_PERIOD_MS, 2 * instruments.length * EVERY_MS);
    return instruments.flatMap((instrument) => {
      const topic = newsTopic(instrument);
      return topic ? [news(instrument.symbol, topic, { historyFrom, periodMs })] : [];
    });
  },
};

function news(
  symbol: string,
  topic: NewsTopic,
  { historyFrom, periodMs }: { readonly historyFrom: number; readonly periodMs: number },
): ProviderSeries {
  return {
    key: symbol,
    next(cursor, now) {
      const reached = readCursor(cursor, Cursor)?.from ?? historyFrom;
      const from = Math.max(reached, roundOf(now - MESSAGE_HISTORY_MS));
      const until = roundOf(now - ROUND_MS);
      if (until <= from) return { waitUntil: from + 2 * ROUND_MS };
      const query = new URLSearchParams({
        query: `${topic.query} sourcelang:english`,
        mode: "artlist",
        format: "json",
        sort: "dateasc",
        maxrecords: String(MAX_ARTICLES),
        startdatetime: stamp(from),
        enddatetime: stamp(until - 1_000),
      });
      return {
        request: { path: `/api/v2/doc/doc?${query}`, maxBytes: 1_048_576 },
        read: (answer) => read(answer, { symbol, topic, from, until, periodMs }),
      };
    },
  };
}

interface NewsQuery {
  readonly symbol: string;
  readonly topic: NewsTopic;
  /** Requested time span, Unix milliseconds; `until` is exclusive. */
  readonly from: number;
  readonly until: number;
  readonly periodMs: number;
}

function read(
  answer: ProviderResponse,
  { symbol, topic, from, until, periodMs }: NewsQuery,
): ParsedResponse {
  const { receivedAt } = answer;
  const articles = articlesOf(answer);
  const sorted = articles
    .filter(({ title }) => topic.matches(title))
    .map(({ url, title, at }) =>
      messageObservations(mention({ url, title, at }), [symbol], receivedAt),
    );
  // GDELT may lag: articles that it has not indexed yet are newer than the newest article returned.
  const newest = Math.min(until, articles.at(-1)?.at ?? from);
  const cutAt = articles.length < MAX_ARTICLES ? undefined : newest;
  const isOver = cutAt === undefined || Math.max(cutAt, from + ROUND_MS) >= until;
  // A full response within one scan interval cannot be paged, so the next request starts with the
  // next interval.
  const next = cutAt === undefined ? newest : Math.max(cutAt, from + ROUND_MS);
  return {
    data: sorted.flatMap(({ data }) => data),
    rejected: sorted.flatMap(({ rejected }) => rejected),
    cursor: JSON.stringify({ from: next } satisfies z.infer<typeof Cursor>),
    ...(isOver && { notBefore: receivedAt + periodMs }),
  };
}

/** Parses the articles. GDELT reports errors as plain text with status 200. */
function articlesOf(answer: ProviderResponse) {
  const text = answer.body.toString("utf8", 0, 500).trimStart();
  if (/^please limit requests/i.test(text)) {
    throw new ProviderFault("limited", `it says ${quoted(text)}`, 12 * EVERY_MS);
  }
  const { articles } = parseJsonBody(answer, Articles);
  return articles.map(({ url, title, seendate }) => ({ url, title, at: instantOf(seendate) }));
}

function mention({ url, title, at }: { url: string; title: string; at: number }) {
  const id = `gdelt-${pseudonym("gdelt", url)}`;
  const text = messageText(title);
  return { id, at, text, author: null, followers: null, symbolCount: 1, stance: null } as const;
}

const roundOf = (at: number): number => Math.floor(at / ROUND_MS) * ROUND_MS;

/** Parses a time such as `20261120T150000Z` to Unix milliseconds. */
const instantOf = (seen: string): number => {
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(seen)?.map(Number) ?? [];
  return Date.UTC(year ?? 0, (month ?? 1) - 1, day, hour, minute, second);
};

/** Formats Unix milliseconds as `20261120150000`. */
const stamp = (at: number): string => new Date(at).toISOString().replace(/\D/g, "").slice(0, 14);
