import { z } from "zod";
import { createCashtagReader } from "../cashtags.ts";
import { ProviderFault } from "../fault.ts";
import { messageObservations, messageText, pseudonym } from "../message.ts";
import type { ParsedResponse, ProviderOptions, StreamedProvider } from "../provider.ts";
import { parseJsonText } from "../provider-response.ts";
import { isLaterThanArrival } from "../publication-times.ts";

const POSTS = "app.bsky.feed.post";

/** How far a reconnect rewinds the stream, in microseconds; duplicates are stored once. */
const REWIND_MICROS = 5_000_000;

/**
 * Interval at which the position in the stream is reported if there are no observations, in
 * microseconds.
 */
const REPORT_EVERY_MICROS = 10_000_000;

/**
 * Maximum size of a message that is requested from Jetstream, in bytes; usual messages have a few
 * kilobytes.
 */
const MAX_MESSAGE_BYTES = 65_536;

/** Maximum age of a post, in milliseconds; older posts are imports from elsewhere. */
const MAX_AGE_MS = 24 * 3_600_000;

/**
 * Maximum time by which an event may be ahead of our clock, in milliseconds, since clocks may
 * differ.
 */
const MAX_AHEAD_MS = 10 * 60_000;

/** An event of the stream. Its `time_us` is in Unix microseconds. */
const Event = z.looseObject({
  did: z.string().max(2_048),
  time_us: z.int().positive(),
  kind: z.string(),
  commit: z
    .looseObject({
      operation: z.string(),
      collection: z.string(),
      rkey: z.string().max(512),
      record: z.unknown().optional(),
    })
    .optional(),
});
type Event = z.infer<typeof Event>;

/** A post as its author's client wrote it; its content is not trusted. */
const Post = z.looseObject({
  text: z.string(),
  createdAt: z.iso.datetime({ offset: true }),
  langs: z.array(z.string()).nullish(),
});

/** Posts on Bluesky that mention instruments by cashtag, from the whole network, in real time. */
export const jetstream: StreamedProvider = {
  kind: "streamed",
  id: "jetstream",
  name: "Bluesky Jetstream",
  terms: "Public posts of the Bluesky network; each belongs to its author, who may delete it.",
  isForOwnUse: false,
  origin: "wss://jetstream2.us-east.bsky.network",
  feeds: ["mentions"],
  classes: ["stock", "etf", "crypto"],
  needs: [],
  path(cursor) {
    const query = new URLSearchParams({
      wantedCollections: POSTS,
      maxMessageSizeBytes: String(MAX_MESSAGE_BYTES),
    });
    const from = Number(cursor ?? 0) - REWIND_MICROS;
    if (Number.isSafeInteger(from) && from > 0) query.set("cursor", String(from));
    return `/subscribe?${query}`;
  },
  reader(options) {
    const readPost = postReader(options);
    let reportedAt = 0;
    return (message, now) => {
      const event = parseJsonText(message, Event);
      requireOurTime(event, now);
      const sorted = readPost(event, now);
      const isLongSilent = Math.abs(event.time_us - reportedAt) >= REPORT_EVERY_MICROS;
      if (sorted === undefined && !isLongSilent) return undefined;
      reportedAt = event.time_us;
      return { data: [], ...sorted, cursor: String(event.time_us) };
    };
  },
};

/**
 * Checks that an event is not dated in the future.
 *
 * @throws {ProviderFault} `clock` if it is.
 */
function requireOurTime({ time_us: micros }: Event, now: number): void {
  const at = micros / 1_000;
  if (at <= now + MAX_AHEAD_MS) return;
  const text = `its clock says ${utcText(at)}, ours ${utcText(now)}`;
  throw new ProviderFault("clock", `${text}: is the clock of this machine right?`);
}

const utcText = (at: number): string => new Date(at).toUTCString();

function postReader({ instruments }: ProviderOptions) {
  const named = createCashtagReader(instruments);
  return (event: Event, now: number): Omit<ParsedResponse, "cursor"> | undefined => {
    const post = postOf(event);
    if (post === undefined) return undefined;
    const at = Date.parse(post.createdAt);
    // `createdAt` is claimed by the author and can be any date, so implausible ones are dropped.
    const isRecent = at > event.time_us / 1_000 - MAX_AGE_MS && !isLaterThanArrival(at, now);
    if (!isRecent) return undefined;
    const { symbols, count } = named(post.text, at);
    if (symbols.length === 0) return undefined;
    const message = {
      id: `bluesky-${pseudonym("bluesky", `${event.did}/${event.commit?.rkey}`)}`,
      at,
      text: messageText(post.text),
      author: pseudonym("bluesky", event.did),
      followers: null,
      symbolCount: count,
      stance: null,
    };
    return messageObservations(message, symbols, now);
  };
}

/** The content of a new post in English or without a language; `undefined` for any other event. */
function postOf({ kind, commit }: Event): z.infer<typeof Post> | undefined {
  if (kind !== "commit" || commit?.operation !== "create" || commit.collection !== POSTS) return;
  const { data: post } = Post.safeParse(commit.record);
  const langs = post?.langs ?? [];
  const isRead = langs.length === 0 || langs.some((lang) => /^en\b/i.test(lang));
  return isRead ? post : undefined;
}
