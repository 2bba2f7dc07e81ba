import {
  addMessage,
  bullishness,
  createRecentTexts,
  decayCounters,
  type Heard,
  hear,
  messageWeight,
  SILENCE,
} from "../factors/message-counters.ts";
import { normalisedText, polarity } from "../factors/polarity.ts";
import { extendBaseline, type SocialBaseline } from "../factors/social.ts";
import { createReader } from "../market/point-in-time.ts";
import type { Mention } from "../market/records.ts";

/** The messages about one instrument while time moves forward. */
export interface Conversation {
  /** Habit of the clear sessions before the current one. */
  readonly baseline: SocialBaseline | undefined;
  /** When the newest message became known, Unix milliseconds; `null` before the first. */
  readonly newestAt: number | null;
  /** Takes in the messages known by `at`, which never falls. */
  advance(mentions: readonly Mention[], at: number): void;
  /** What is heard at an instant not before the newest message. */
  heardAt(at: number): Heard;
  /** The session before, if it was clear, joins the baseline. */
  beginSession(): void;
  /** What is heard at the close is the session's. */
  closeSession(at: number): void;
}

/** Polarity of an author's own tag. */
const STANCE_POLARITY = { bullish: 1, bearish: -1 } as const;

/** Texts per instrument whose reading is remembered; messages repeat each other a lot. */
const REMEMBERED_TEXTS = 1_000;

/** Reads texts, each once while it is remembered: what it says, and what makes it a duplicate. */
function createTextReader() {
  const known = new Map<string, { readonly polarity: number; readonly normalised: string }>();
  return (text: string) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    if (known.size >= REMEMBERED_TEXTS) known.clear();
    const reading = { polarity: polarity(text), normalised: normalisedText(text) };
    known.set(text, reading);
    return reading;
  };
}

/** Starts to listen. The author's own tag overrides what the text says. */
export function createConversation(halfLifeMs: number, dayMs: number): Conversation {
  const newMentions = createReader<Mention>();
  const recentTexts = createRecentTexts(dayMs);
  const readText = createTextReader();
  let counters = SILENCE;
  let baseline: SocialBaseline | undefined;
  let closed: number | undefined;
  let newestAt: number | null = null;

  const heardAt = (at: number) =>
    hear(decayCounters(counters, at, halfLifeMs), at - (newestAt ?? 0), halfLifeMs);
  const add = (mention: Mention) => {
    newestAt = mention.availableAt;
    const said = readText(mention.text);
    const duplicates = recentTexts.countEarlier(said.normalised, newestAt);
    counters = addMessage(
      decayCounters(counters, newestAt, halfLifeMs),
      mention.stance === null ? said.polarity : STANCE_POLARITY[mention.stance],
      messageWeight(mention, duplicates),
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
    heardAt,
    beginSession() {
      if (closed !== undefined) baseline = extendBaseline(baseline, closed);
      closed = undefined;
    },
    closeSession(at) {
      if (newestAt === null) return;
      const heard = heardAt(at);
      if (heard.clarity === "clear") closed = bullishness(heard.counters).value;
    },
  };
}
