import { extendSocialBaseline, type SocialBaseline } from "../factors/social.ts";
import { createRecordReader } from "../market/point-in-time.ts";
import type { Mention, RecordList } from "../market/records.ts";
import {
  type AttentionReading,
  type AttentionTracker,
  createAttentionTracker,
} from "../messages/attention.ts";
import {
  addMessageToCounters,
  decayCounters,
  NO_MESSAGES,
  type Sentiment,
  sentimentMeasures,
  sentimentOf,
} from "../messages/message-counters.ts";
import {
  type AuthorActivity,
  createRecentMessages,
  messageWeight,
  type RecentMessages,
} from "../messages/message-weight.ts";
import { messagePolarity, normalizeMessageText } from "../messages/polarity.ts";

/** Processes the messages about one instrument during a replay. */
export interface MessageStream {
  /** Mean and variance of bullishness in the earlier sessions with clear sentiment. */
  readonly baseline: SocialBaseline | undefined;
  /** When the newest message became known, Unix milliseconds; `null` before the first message. */
  readonly newestAt: number | null;
  /** Processes the messages known at `at` (Unix milliseconds), which never decreases. */
  advance(mentions: RecordList<Mention>, at: number): void;
  /** Sentiment at an instant, which must not precede the newest message. */
  sentimentAt(at: number): Sentiment;
  /** Attention at an instant, which must not precede the newest message. */
  attentionAt(at: number): AttentionReading;
  /** Adds the previous session to the baseline if its sentiment was clear. */
  beginSession(): void;
  /** Records the sentiment at the close as the sentiment of the session. */
  closeSession(at: number): void;
}

/** Polarity of a text, and the normal form by which duplicates are found. */
interface TextReading {
  /** In [-1, 1], positive if bullish. */
  readonly polarity: number;
  readonly normalised: string;
}

/** Analyzes the text of a message. */
export type MessageTextAnalyzer = (message: Pick<Mention, "text">) => TextReading;

/** Options of a message stream; times in milliseconds. */
export interface MessageStreamOptions {
  readonly halfLifeMs: number;
  readonly dayMs: number;
  /** Activity of authors over all instruments, complete up to the newest message that is read. */
  readonly authors: AuthorActivity;
  /** Shared by all streams, since a message may belong to several. */
  readonly readText?: MessageTextAnalyzer;
}

/** Polarity of a stance that the author declared. */
const STANCE_POLARITY = { bullish: 1, bearish: -1 } as const;

/** Maximum number of cached texts; messages often repeat each other. */
const CACHED_TEXTS = 20_000;

/**
 * Creates an analyzer that reads each text once while it is cached, and each message once
 * while it is in memory, since a replay that starts over reads the same messages again.
 *
 * @param polarityOf Returns the polarity of a text in [-1, 1], positive if bullish; the lexicon's
 * polarity by default.
 */
export function createMessageTextAnalyzer(
  polarityOf: (text: string) => number = messagePolarity,
): MessageTextAnalyzer {
  const known = new Map<string, TextReading>();
  const polarities = new WeakMap<object, number>();
  return (message) => {
    const { text } = message;
    const before = known.get(text);
    if (before !== undefined) return before;
    if (known.size >= CACHED_TEXTS) known.clear();
    const polarity = polarities.get(message) ?? polarityOf(text);
    polarities.set(message, polarity);
    const reading = { polarity, normalised: normalizeMessageText(text) };
    known.set(text, reading);
    return reading;
  };
}

/**
 * Creates a function that weighs messages in chronological order, each in view of the earlier
 * messages.
 */
function createWeigher(
  recent: RecentMessages,
  { authors, readText = createMessageTextAnalyzer() }: MessageStreamOptions,
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

/**
 * Creates a stream that has processed no messages yet. The stance that an author declares overrides
 * the polarity of the text.
 */
export function createMessageStream(setting: MessageStreamOptions): MessageStream {
  const { halfLifeMs, dayMs } = setting;
  const newMentions = createRecordReader<Mention>();
  const recent = createRecentMessages(dayMs);
  const weigh = createWeigher(recent, setting);
  const attention: AttentionTracker = createAttentionTracker();
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
    // Messages of bots, whose weight is 0, do not end a silence.
    if (weight > 0) countedAt = availableAt;
    counters = addMessageToCounters(
      decayCounters(counters, availableAt, halfLifeMs),
      polarity,
      weight,
    );
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
      if (closed !== undefined) baseline = extendSocialBaseline(baseline, closed);
      closed = undefined;
    },
    closeSession(at) {
      if (newestAt === null) return;
      attention.closeSession(recent.weightAt(at));
      const sentiment = sentimentAt(at);
      if (sentiment.clarity === "clear") closed = sentimentMeasures(sentiment.counters).value;
    },
  };
}
