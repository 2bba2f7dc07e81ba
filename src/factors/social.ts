import { ATTENTION_RULES, type AttentionReading, attentionPenalty } from "./attention.ts";
import { MIN_PEERS } from "./ecdf.ts";
import { bullishness, type Sentiment } from "./message-counters.ts";
import { type Input, missingReading, type Reading, unweightedInput } from "./reading.ts";
import { clip, clippedZ, decay, ewStep, meanAndSd, type Norm, Z_BOUND } from "./statistics.ts";

/** Constants of the social factor. */
export const SOCIAL_RULES = {
  /** Half-life in sessions of the baseline of daily bullishness, and its minimum sessions. */
  baselineHalfLife: 30,
  minBaselineSessions: 20,
  /** Effective messages at which the sentiment has half weight: n / (n + 10). */
  shrinkage: 10,
  /** Days without a message on the whole market after which the feed is stale. */
  staleAfterDays: 3,
} as const;

/** EW(30) mean and variance of an instrument's daily bullishness, one step per clear session. */
export interface SocialBaseline {
  readonly sessions: number;
  readonly mean: number;
  readonly variance: number;
}

/**
 * Adds a session to the baseline. Squared deviations are from the mean before the session; the first of
 * them seeds the variance.
 */
export function extendBaseline(
  baseline: SocialBaseline | undefined,
  value: number,
): SocialBaseline {
  if (baseline === undefined) return { sessions: 1, mean: value, variance: 0 };
  const lambda = decay(1, SOCIAL_RULES.baselineHalfLife);
  return {
    sessions: baseline.sessions + 1,
    mean: ewStep(baseline.mean, value, lambda),
    variance: ewStep(
      baseline.sessions === 1 ? undefined : baseline.variance,
      (value - baseline.mean) ** 2,
      lambda,
    ),
  };
}

/** The class's norm, for instruments with a short history; `undefined` under 30 peers. */
export const freezeSocial = (values: readonly number[]): Norm | undefined =>
  values.length < MIN_PEERS ? undefined : meanAndSd(values);

/**
 * z_sent = clip((b - mean)/sd, -3, 3) * n/(n + 10) with n effective messages, `undefined` without
 * variance.
 */
export function sentimentZ(value: number, messages: number, norm: Norm): number | undefined {
  const z = clippedZ(value, norm);
  return z === undefined ? undefined : z * shrink(messages);
}

/** n / (n + 10): the weight of n effective messages. */
const shrink = (messages: number): number => messages / (messages + SOCIAL_RULES.shrinkage);

/** z_S = clip(z_sent - 0.25 max(0, z_att - 1), -3, 3): high attention predicts a reversal. */
export const socialZ = (sentiment: number, attention: AttentionReading): number =>
  clip(sentiment - attentionPenalty(attention), Z_BOUND);

/** Messages of an instrument at an instant. */
export interface SocialContext {
  /** Unix milliseconds. */
  readonly at: number;
  readonly dayMs: number;
  /** Times of the newest message of the instrument and of the whole market, `null` for never. */
  readonly asOf: number | null;
  readonly feedAt: number | null;
  readonly sentiment: Sentiment;
  readonly attention: AttentionReading;
  /** Own history, excluding the current session. */
  readonly baseline: SocialBaseline | undefined;
  readonly classNorm: Norm | undefined;
}

/** Sentiment of messages against the instrument's own history; confidence n/(n + 10). */
export function readSocial(context: SocialContext): Reading {
  const { at, dayMs, feedAt, asOf, sentiment, attention } = context;
  if (asOf === null) return missingReading("not_observed");
  const maxAge = SOCIAL_RULES.staleAfterDays * dayMs;
  if (feedAt === null || at - feedAt > maxAge) return missingReading("stale", { asOf });

  const seen = { asOf, staleAfter: feedAt + maxAge };
  if (sentiment.clarity !== "clear") {
    return missingReading(
      sentiment.clarity === "silent" ? "no_activity" : "insufficient_data",
      seen,
    );
  }
  const { value, effectiveMessages } = bullishness(sentiment.counters);
  const norm = normFor(context);
  const score = norm && sentimentZ(value, effectiveMessages, norm);
  const listInputs = () => socialInputs(context, asOf, score ?? null);
  if (score === undefined) return missingReading("insufficient_data", { ...seen, listInputs });
  const z = socialZ(score, attention);
  return { z, confidence: shrink(effectiveMessages), status: "ok", ...seen, listInputs };
}

function normFor({ baseline, classNorm }: SocialContext): Norm | undefined {
  const isLong = baseline !== undefined && baseline.sessions >= SOCIAL_RULES.minBaselineSessions;
  return isLong ? { mean: baseline.mean, sd: Math.sqrt(baseline.variance) } : classNorm;
}

/** Attention has a weight only above its threshold, where z_S = z_sent - 0.25 z_att + 0.25. */
function socialInputs(
  { sentiment: { counters }, attention }: SocialContext,
  asOf: number,
  score: number | null,
): Input[] {
  const { value, agreement, effectiveMessages } = bullishness(counters);
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
