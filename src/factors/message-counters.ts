import type { AssetClass } from "../market/instrument.ts";
import { decay } from "./statistics.ts";

/** Constants of the message counters. */
export const COUNTER_RULES = {
  /** Half-life of a message in market days. */
  halfLifeDays: { stock: 1, etf: 1, crypto: 0.5 } as Readonly<Record<AssetClass, number>>,
  /** |polarity| above which a message counts as bullish or bearish. */
  minPolarity: 0.2,
  /** Half-lives without a message after which a stream is silent. */
  silentHalfLives: 3,
  /** Minimum effective messages for a reading. */
  minEffectiveMessages: 3,
} as const;

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
export const NO_MESSAGES: SocialCounters = {
  at: 0,
  bullish: 0,
  bearish: 0,
  total: 0,
  totalSquared: 0,
};

/** The counters decayed to a later instant. */
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
  COUNTER_RULES.halfLifeDays[assetClass] * dayMs;

/** Adds a message to counters that are decayed to its instant. */
export function addMessage(
  counters: SocialCounters,
  polarity: number,
  weight: number,
): SocialCounters {
  const { minPolarity } = COUNTER_RULES;
  return {
    at: counters.at,
    bullish: counters.bullish + (polarity > minPolarity ? weight : 0),
    bearish: counters.bearish + (polarity < -minPolarity ? weight : 0),
    total: counters.total + weight,
    totalSquared: counters.totalSquared + weight ** 2,
  };
}

/** Sentiment of the messages about an instrument at an instant. */
export interface Sentiment {
  /** Weights of all messages, decayed to the instant. */
  readonly counters: SocialCounters;
  /** `silent`: no recent message; `faint`: too few messages for a reading; `clear`: enough. */
  readonly clarity: "silent" | "faint" | "clear";
}

/** Sentiment before the first message. */
export const NO_SENTIMENT: Sentiment = { counters: NO_MESSAGES, clarity: "silent" };

/**
 * Sentiment from counters and the time since the newest message. The time is needed because the
 * number of effective messages does not decay.
 *
 * @param silentMs Milliseconds since the newest message.
 */
export function sentimentOf(
  counters: SocialCounters,
  silentMs: number,
  halfLifeMs: number,
): Sentiment {
  if (silentMs > COUNTER_RULES.silentHalfLives * halfLifeMs) return { counters, clarity: "silent" };
  const { effectiveMessages } = bullishness(counters);
  const isFaint = effectiveMessages < COUNTER_RULES.minEffectiveMessages;
  return { counters, clarity: isFaint ? "faint" : "clear" };
}

/**
 * Bullishness ln((1 + B)/(1 + S)) and agreement 1 - sqrt(1 - ((B - S)/(B + S))^2) in [0, 1]
 * (Antweiler & Frank, 2004), 0 without bullish or bearish messages; effective messages W^2/W2.
 */
export function bullishness({ bullish, bearish, total, totalSquared }: SocialCounters) {
  const sided = bullish + bearish;
  const balance = sided === 0 ? 0 : (bullish - bearish) / sided;
  return {
    value: Math.log((1 + bullish) / (1 + bearish)),
    agreement: 1 - Math.sqrt(Math.max(0, 1 - balance ** 2)),
    effectiveMessages: totalSquared === 0 ? 0 : total ** 2 / totalSquared,
  };
}
