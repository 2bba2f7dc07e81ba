import type { AssetClass } from "../market/instrument.ts";
import type { Mention } from "../market/records.ts";
import { decay } from "./statistics.ts";

/** Half-life of a message in days: a market day, half of one where trading never stops. */
const HALF_LIFE_DAYS: Readonly<Record<AssetClass, number>> = { stock: 1, etf: 1, crypto: 0.5 };
/** |polarity| above which a message counts as bullish or bearish. */
const MIN_POLARITY = 0.2;
/** A message repeats an earlier one of the instrument within this many days. */
const DUPLICATE_WINDOW_DAYS = 1;

/** Weights of messages decayed to the instant `at`: bullish, bearish, all, and all squared. */
export interface SocialCounters {
  /** Unix milliseconds. */
  readonly at: number;
  readonly bullish: number;
  readonly bearish: number;
  readonly total: number;
  readonly totalSquared: number;
}

/** Counters before the first message. */
export const SILENCE: SocialCounters = {
  at: 0,
  bullish: 0,
  bearish: 0,
  total: 0,
  totalSquared: 0,
};

/** The counters at a later instant, every weight halved once per half-life. */
export function decayCounters(
  counters: SocialCounters,
  at: number,
  halfLifeMs: number,
): SocialCounters {
  const factor = decay(at - counters.at, halfLifeMs);
  return {
    at,
    bullish: counters.bullish * factor,
    bearish: counters.bearish * factor,
    total: counters.total * factor,
    totalSquared: counters.totalSquared * factor ** 2,
  };
}

/** The half-life of a message in milliseconds. */
export const socialHalfLifeMs = (assetClass: AssetClass, dayMs: number): number =>
  HALF_LIFE_DAYS[assetClass] * dayMs;

/** Counters that already stand at the message's instant, with the message added. */
export function addMessage(
  counters: SocialCounters,
  polarity: number,
  weight: number,
): SocialCounters {
  return {
    at: counters.at,
    bullish: counters.bullish + (polarity > MIN_POLARITY ? weight : 0),
    bearish: counters.bearish + (polarity < -MIN_POLARITY ? weight : 0),
    total: counters.total + weight,
    totalSquared: counters.totalSquared + weight ** 2,
  };
}

/**
 * Weight of one message in [0, 2]: min(2, max(1, 1 + log10(1 + followers)/4)) * 0.5^duplicates
 * / sqrt(instruments named). An unknown follower count weighs as none.
 *
 * @param duplicates Earlier messages on the instrument within a day with the same text.
 */
export function messageWeight(
  { followers, symbolCount }: Pick<Mention, "followers" | "symbolCount">,
  duplicates: number,
): number {
  const reach = Math.min(2, Math.max(1, 1 + Math.log10(1 + (followers ?? 0)) / 4));
  return (reach * 0.5 ** duplicates) / Math.sqrt(symbolCount);
}

/** Half-lives without a message after which a conversation is silent. */
const SILENT_HALF_LIVES = 3;
/** Fewer effective messages than this are no reading. */
const MIN_EFFECTIVE_MESSAGES = 3;

/** What is heard of an instrument at an instant. */
export interface Heard {
  /** Weights of all messages, decayed to the instant. */
  readonly counters: SocialCounters;
  /** `silent`: nothing lately; `faint`: too few messages to read; `clear`: enough. */
  readonly clarity: "silent" | "faint" | "clear";
}

/**
 * Judges counters by the time since the newest message: effective messages alone never fade.
 *
 * @param silentMs Milliseconds since the newest message.
 */
export function hear(counters: SocialCounters, silentMs: number, halfLifeMs: number): Heard {
  if (silentMs > SILENT_HALF_LIVES * halfLifeMs) return { counters, clarity: "silent" };
  const { effectiveMessages } = bullishness(counters);
  return { counters, clarity: effectiveMessages < MIN_EFFECTIVE_MESSAGES ? "faint" : "clear" };
}

/** Bullishness ln((1 + B)/(1 + S)) (Antweiler & Frank, 2004) and effective messages W^2/W2. */
export function bullishness({ bullish, bearish, total, totalSquared }: SocialCounters) {
  return {
    value: Math.log((1 + bullish) / (1 + bearish)),
    effectiveMessages: totalSquared === 0 ? 0 : total ** 2 / totalSquared,
  };
}

/** How often a text came up lately; one per instrument, forgetting after a day. */
export interface RecentTexts {
  /** Counts the text at `at` (Unix milliseconds, never falling) and returns its earlier uses. */
  countEarlier(text: string, at: number): number;
}

/** Creates an empty memory of recent texts. */
export function createRecentTexts(dayMs: number): RecentTexts {
  const windowMs = DUPLICATE_WINDOW_DAYS * dayMs;
  const uses = new Map<string, number>();
  const order: { readonly text: string; readonly at: number }[] = [];
  let forgotten = 0;

  const forgetBefore = (instant: number) => {
    for (let use = order[forgotten]; use && use.at < instant; use = order[++forgotten]) {
      const left = (uses.get(use.text) as number) - 1;
      if (left === 0) uses.delete(use.text);
      else uses.set(use.text, left);
    }
    if (forgotten > order.length / 2) {
      order.splice(0, forgotten);
      forgotten = 0;
    }
  };
  return {
    countEarlier(text, at) {
      forgetBefore(at - windowMs);
      const earlier = uses.get(text) ?? 0;
      uses.set(text, earlier + 1);
      order.push({ text, at });
      return earlier;
    },
  };
}
