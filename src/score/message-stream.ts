import { type Attention, type AttentionReading, createAttention } from "../factors/attention.ts";
import {
  addMessage,
  bullishness,
  decayCounters,
  NO_MESSAGES,
  type Sentiment,
  sentimentOf,
} from "../factors/message-counters.ts";
import {
  type AuthorActivity,
  createRecentMessages,
  messageWeight,
  type RecentMessages,
} from "../factors/message-weight.ts";
import { normalizedText, polarity } from "../factors/polarity.ts";
import { extendBaseline, type SocialBaseline } from "../factors/social.ts";
import { createReader } from "../market/point-in-time.ts";
import type { Mention, RecordList } from "../market/records.ts";

/** The messages about one instrument as they are replayed. */
export interface MessageStream {
  /** Mean and standard deviation of earlier sessions with clear sentiment. */
  readonly baseline: SocialBaseline | undefined;
  /** When the newest message became known, Unix milliseconds; `null` before the first. */
  readonly newestAt: number | null;
  /** Processes the messages known by `at`, which never decreases. */
  advance(mentions: RecordList<Mention>, at: number): void;
  /** Sentiment at an instant, not before the newest message. */
  sentimentAt(at: number): Sentiment;
  /** Attention at that instant. */
  attentionAt(at: number): AttentionReading;
  /** Adds the previous session to the baseline if its sentiment was clear. */
  beginSession(): void;
  /** Records the sentiment at the close as that of the session. */
  closeSession(at: number): void;
}

/** Polarity of a text, and its normalised form, by which duplicates are found. */
interface TextReading {
  /** In [-1, 1], positive is bullish. */
  readonly polarity: number;
  readonly normalised: string;
}

/** Analyzes the text of a message. */
export type TextReader = (message: Pick<Mention, "text">) => TextReading;

/** Options of a message stream; times in milliseconds. */
export interface MessageStreamOptions {
  readonly halfLifeMs: number;
  readonly dayMs: number;
  /** Activity of authors on all instruments, up to the instant of every message that is read. */
  readonly authors: AuthorActivity;
  /** Shared by all streams, since a message may be in several. */
  readonly readText?: TextReader;
}

/** Polarity of the author's declared stance. */
const STANCE_POLARITY = { bullish: 1, bearish: -1 } as const;

/** Texts in the cache; messages often repeat each other. */
const CACHED_TEXTS = 20_000;

/**
 * Reads each text once while it is cached, and each message once while it is in memory: a replay run
 * that starts over reads the same messages again.
 *
 * @param polarityOf How bullish (1) or bearish (-1) a text is; the lexicon's opinion by default.
 */
export function createTextReader(polarityOf: (text: string) => number = polarity): TextReader {
  const known = new Map<string, TextReading>();
  const polarities = new WeakMap<object, number>();
  return (message) => {
    const { text } = message;
    const before = known.get(text);
    if (before !== undefined) return before;
    if (known.size >= CACHED_TEXTS) known.clear();
    const polarity = polarities.get(message) ?? polarityOf(text);
    polarities.set(message, polarity);
    const reading = { polarity, normalised: normalizedText(text) };
    known.set(text, reading);
    return reading;
  };
}

/** Weighs messages in chronological order, each against the earlier ones. */
function createWeigher(
  recent: RecentMessages,
  { authors, readText = createTextReader() }: MessageStreamOptions,
) {
  return (mention: Mention) => {
    const { author, stance, availableAt } = mention;
    const read = readText(mention);
    const weight = messageWeight(mention, {
      duplicates: recent.countEarlier(read.normalised, availableAt),
      byAuthor: author === null ? 0 : authors.countEarlier(author, availableAt),
    });
    recent.add(read.normalised, availableAt, weight);
    return { polarity: stance === null ? read.polarity : STANCE_POLARITY[stance], weight };
  };
}

/** Creates an empty stream. The author's declared stance overrides the polarity of the text. */
export function createMessageStream(setting: MessageStreamOptions): MessageStream {
  const { halfLifeMs, dayMs } = setting;
  const newMentions = createReader<Mention>();
  const recent = createRecentMessages(dayMs);
  const weigh = createWeigher(recent, setting);
  const attention: Attention = createAttention();
  let counters = NO_MESSAGES;
  let baseline: SocialBaseline | undefined;
  let closed: number | undefined;
  let newestAt: number | null = null;
  let countedAt = 0;

  const sentimentAt = (at: number) =>
    sentimentOf(decayCounters(counters, at, halfLifeMs), at - countedAt, halfLifeMs);
  const add = (mention: Mention) => {
    const { availableAt } = mention;
    const { polarity, weight } = weigh(mention);
    newestAt = availableAt;
    // Messages of bots do not count as activity.
    if (weight > 0) countedAt = availableAt;
    counters = addMessage(decayCounters(counters, availableAt, halfLifeMs), polarity, weight);
  };
  return {
    get baseline() {
      return baseline;
    },
    get newestAt() {
      return newestAt;
    },
    advance(mentions, at) {
      for (const mention of newMentions(mentions, at)) add(mention);
    },
    sentimentAt,
    attentionAt: (at) => attention.read(recent.weightAt(at)),
    beginSession() {
      attention.beginSession();
      if (closed !== undefined) baseline = extendBaseline(baseline, closed);
      closed = undefined;
    },
    closeSession(at) {
      if (newestAt === null) return;
      attention.closeSession(recent.weightAt(at));
      const sentiment = sentimentAt(at);
      if (sentiment.clarity === "clear") closed = bullishness(sentiment.counters).value;
    },
  };
}
