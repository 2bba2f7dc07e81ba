import type { AssetClass } from "../market/instrument.ts";
import { decayFactor } from "../statistics/statistics.ts";

/** Constants of the message counters. */
export const SOCIAL_COUNTER_RULES = {
  /** Half-life of a message's weight in market days. */
  halfLifeDays: { stock: 1, etf: 1, crypto: 0.5 } as Readonly<Record<AssetClass, number>>,
  /** |polarity| above which a message counts as bullish or bearish, in [0, 1]. */
  minPolarity: 0.2,
  /** Number of half-lives without a message after which sentiment is `silent`. */
  silentHalfLives: 3,
  /** Minimum number of effective messages for a reading. */
  minEffectiveMessages: 3,
} as const;

/**
 * Sums of message weights, decayed to the instant `at`: of bullish messages, of bearish messages
 * and of all messages, and the sum of the squared weights of all messages.
 */
export interface SocialCounters {
  /** Instant to which the weights are decayed, Unix milliseconds. */
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

/** Decays the counters to a later instant. */
export function decayCounters(
  counters: SocialCounters,
  at: number,
  halfLifeMs: number,
): SocialCounters {
  const factor = decayFactor(at - counters.at, halfLifeMs);
  return {
    at,
    bullish: counters.bullish * factor,
    bearish: counters.bearish * factor,
    total: counters.total * factor,
    totalSquared: counters.totalSquared * factor ** 2,
  };
}

/** Converts the half-life of a message's weight to milliseconds. */
export const socialHalfLifeMs = (assetClass: AssetClass, dayMs: number): number =>
  SOCIAL_COUNTER_RULES.halfLifeDays[assetClass] * dayMs;

/** Adds a message to counters that are already decayed to the message's instant. */
export function addMessageToCounters(
  counters: SocialCounters,
  polarity: number,
  weight: number,
): SocialCounters {
  const { minPolarity } = SOCIAL_COUNTER_RULES;
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
  /**
   * `silent`: no recent message; `faint`: too few messages for a reading; `clear`: enough messages.
   */
  readonly clarity: "silent" | "faint" | "clear";
}

/** Sentiment before the first message. */
export const NO_SENTIMENT: Sentiment = { counters: NO_MESSAGES, clarity: "silent" };

/**
 * Sentiment from counters and the time since the newest message. The time is needed because decay
 * leaves the number of effective messages W^2/W2 unchanged.
 *
 * @param silentMs Milliseconds since the newest message.
 */
export function sentimentOf(
  counters: SocialCounters,
  silentMs: number,
  halfLifeMs: number,
): Sentiment {
  if (silentMs > SOCIAL_COUNTER_RULES.silentHalfLives * halfLifeMs)
    return { counters, clarity: "silent" };
  const { effectiveMessages } = sentimentMeasures(counters);
  const isFaint = effectiveMessages < SOCIAL_COUNTER_RULES.minEffectiveMessages;
  return { counters, clarity: isFaint ? "faint" : "clear" };
}

/**
 * The measures derived from the counters, with B and S the weights of bullish and bearish messages
 * (Antweiler & Frank, 2004):
 * - bullishness ln((1 + B)/(1 + S))
 * - agreement 1 - sqrt(1 - ((B - S)/(B + S))^2) in [0, 1], 0 if B + S = 0
 * - effective messages W^2/W2, with W the weight of all messages and W2 the sum of squared weights
 */
export function sentimentMeasures({ bullish, bearish, total, totalSquared }: SocialCounters) {
  const sided = bullish + bearish;
  const balance = sided === 0 ? 0 : (bullish - bearish) / sided;
  return {
    value: Math.log((1 + bullish) / (1 + bearish)),
    agreement: 1 - Math.sqrt(Math.max(0, 1 - balance ** 2)),
    effectiveMessages: totalSquared === 0 ? 0 : total ** 2 / totalSquared,
  };
}
