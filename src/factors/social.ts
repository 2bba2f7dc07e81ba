import { ATTENTION_RULES, type AttentionReading, attentionPenalty } from "../messages/attention.ts";
import { type Sentiment, sentimentMeasures } from "../messages/message-counters.ts";
import { MIN_PEER_GROUP_SIZE } from "../statistics/ecdf.ts";
import {
  clip,
  clippedZ,
  decayFactor,
  ewmaStep,
  type MeanAndSd,
  meanAndSd,
  Z_BOUND,
} from "../statistics/statistics.ts";
import {
  type FactorInput,
  type FactorReading,
  missingReading,
  unweightedInput,
} from "./reading.ts";

/** Constants of the social factor. */
export const SOCIAL_RULES = {
  /**
   * Half-life in sessions of the mean and variance of daily bullishness, and the minimum number of
   * sessions.
   */
  baselineHalfLife: 30,
  minBaselineSessions: 20,
  /** Number of effective messages at which the sentiment has half weight: n / (n + 10). */
  shrinkage: 10,
  /** Market days without a message in the whole market after which the feed is stale. */
  staleAfterDays: 3,
} as const;

/**
 * Mean and variance of an instrument's daily bullishness, exponentially weighted with a half-life
 * of 30 sessions. Sessions with too few messages are left out.
 */
export interface SocialBaseline {
  readonly sessions: number;
  readonly mean: number;
  readonly variance: number;
}

/**
 * Adds a session to the baseline. Deviations are measured from the mean before the session; the
 * first squared deviation is the initial variance.
 */
export function extendSocialBaseline(
  baseline: SocialBaseline | undefined,
  value: number,
): SocialBaseline {
  if (baseline === undefined) return { sessions: 1, mean: value, variance: 0 };
  const lambda = decayFactor(1, SOCIAL_RULES.baselineHalfLife);
  return {
    sessions: baseline.sessions + 1,
    mean: ewmaStep(baseline.mean, value, lambda),
    variance: ewmaStep(
      baseline.sessions === 1 ? undefined : baseline.variance,
      (value - baseline.mean) ** 2,
      lambda,
    ),
  };
}

/**
 * Mean and standard deviation of bullishness over the class, for instruments with a short history;
 * `undefined` with fewer than 30 peers.
 */
export const freezeSocialNorm = (values: readonly number[]): MeanAndSd | undefined =>
  values.length < MIN_PEER_GROUP_SIZE ? undefined : meanAndSd(values);

/**
 * z_sent = clip((b - mean)/sd, -3, 3) * n/(n + 10), with bullishness b and n effective messages;
 * `undefined` if the norm has no variance.
 */
export function sentimentZ(value: number, messages: number, norm: MeanAndSd): number | undefined {
  const z = clippedZ(value, norm);
  return z === undefined ? undefined : z * shrink(messages);
}

/** Weight of n effective messages: n / (n + 10). */
const shrink = (messages: number): number => messages / (messages + SOCIAL_RULES.shrinkage);

/**
 * z_S = clip(z_sent - 0.25 max(0, z_att - 1), -3, 3). Attention is subtracted because high
 * attention predicts a reversal.
 */
export const socialZ = (sentiment: number, attention: AttentionReading): number =>
  clip(sentiment - attentionPenalty(attention), Z_BOUND);

/** Messages about an instrument, as known at an instant. */
export interface SocialContext {
  /** Instant of the reading, Unix milliseconds. */
  readonly at: number;
  readonly dayMs: number;
  /**
   * When the newest message about the instrument (`asOf`) and the newest message in the whole
   * market (`feedAt`) became known, Unix milliseconds; `null` if there is none.
   */
  readonly asOf: number | null;
  readonly feedAt: number | null;
  readonly sentiment: Sentiment;
  readonly attention: AttentionReading;
  /** The instrument's own history, excluding the current session. */
  readonly baseline: SocialBaseline | undefined;
  readonly classNorm: MeanAndSd | undefined;
}

/**
 * Reads the social factor: sentiment of messages against the instrument's own history, with
 * confidence n/(n + 10) for n effective messages.
 */
export function computeSocialReading(context: SocialContext): FactorReading {
  const { at, dayMs, feedAt, asOf, sentiment, attention } = context;
  if (asOf === null) return missingReading("not_observed");
  const maxAge = SOCIAL_RULES.staleAfterDays * dayMs;
  if (feedAt === null || at - feedAt > maxAge) return missingReading("stale", { asOf });

  const staleAfter = feedAt + maxAge;
  if (sentiment.clarity !== "clear") {
    return missingReading(sentiment.clarity === "silent" ? "no_activity" : "insufficient_data", {
      asOf,
      staleAfter,
    });
  }
  const { value, effectiveMessages } = sentimentMeasures(sentiment.counters);
  const norm = normFor(context);
  const score = norm && sentimentZ(value, effectiveMessages, norm);
  const listInputs = () => socialInputs(context, asOf, score ?? null);
  if (score === undefined) {
    return missingReading("insufficient_data", { asOf, staleAfter, listInputs });
  }
  const z = socialZ(score, attention);
  const confidence = shrink(effectiveMessages);
  return { z, confidence, status: "ok", asOf, staleAfter, listInputs };
}

function normFor({ baseline, classNorm }: SocialContext): MeanAndSd | undefined {
  const isLong = baseline !== undefined && baseline.sessions >= SOCIAL_RULES.minBaselineSessions;
  return isLong ? { mean: baseline.mean, sd: Math.sqrt(baseline.variance) } : classNorm;
}

/**
 * The inputs of the social factor. Attention has a weight only above its threshold, where z_S =
 * z_sent - 0.25 z_att + 0.25.
 */
function socialInputs(
  { sentiment: { counters }, attention }: SocialContext,
  asOf: number,
  score: number | null,
): FactorInput[] {
  const { value, agreement, effectiveMessages } = sentimentMeasures(counters);
  const isCrowd = score !== null && attentionPenalty(attention) > 0;
  return [
    {
      ...unweightedInput("bullishness", value, "log ratio", asOf),
      z: score,
      weight: score === null ? 0 : 1,
    },
    {
      ...unweightedInput("attention", attention.value, "log ratio", asOf),
      z: attention.z,
      weight: isCrowd ? -ATTENTION_RULES.penalty : 0,
    },
    unweightedInput("agreement", agreement, "fraction", asOf),
    unweightedInput("effectiveMessages", effectiveMessages, "count", asOf),
    unweightedInput("bullishWeight", counters.bullish, "weight", asOf),
    unweightedInput("bearishWeight", counters.bearish, "weight", asOf),
  ];
}
