import { bullishness, type Heard, type SocialCounters } from "./message-counters.ts";
import { type Input, type Reading, unread } from "./reading.ts";
import { clip, decay, ewStep, mean, sampleSd, Z_BOUND } from "./statistics.ts";

/** Half-life in sessions of the baseline of daily bullishness, and sessions that it needs. */
const BASELINE_HALF_LIFE = 30;
const MIN_BASELINE_SESSIONS = 20;
/** Peers needed for the class's mean and deviation in place of an instrument's own. */
const MIN_PEERS = 30;
/** Effective messages at which the sentiment counts half: n / (n + 10). */
const SHRINKAGE = 10;
/** Days without a single message on the whole market after which the feed counts as dead. */
const STALE_AFTER_DAYS = 3;

/** EW(30) mean and variance of an instrument's daily bullishness, one step per clear session. */
export interface SocialBaseline {
  readonly sessions: number;
  readonly mean: number;
  readonly variance: number;
}

/**
 * The baseline with one more session. Squared deviations are from the mean before the session;
 * the first of them seeds the variance.
 */
export function extendBaseline(
  baseline: SocialBaseline | undefined,
  value: number,
): SocialBaseline {
  if (baseline === undefined) return { sessions: 1, mean: value, variance: 0 };
  const lambda = decay(1, BASELINE_HALF_LIFE);
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

/** Mean and standard deviation of daily bullishness to compare with. */
export interface Norm {
  readonly mean: number;
  readonly sd: number;
}

/** The class's norm, for instruments with a short history; `undefined` under 30 peers. */
export function freezeSocial(values: readonly number[]): Norm | undefined {
  return values.length < MIN_PEERS ? undefined : { mean: mean(values), sd: sampleSd(values) };
}

/** z_sent = clip((b - mean)/sd, -3, 3) * n/(n + 10) with n effective messages. */
export function sentimentZ(value: number, effectiveMessages: number, norm: Norm): number {
  const shrinkage = effectiveMessages / (effectiveMessages + SHRINKAGE);
  return clip((value - norm.mean) / norm.sd, Z_BOUND) * shrinkage;
}

/** What is known of an instrument's conversation at an instant. */
export interface SocialContext {
  /** Unix milliseconds. */
  readonly at: number;
  readonly dayMs: number;
  /** When the newest message of the instrument and of the whole market came, `null` for never. */
  readonly asOf: number | null;
  readonly feedAt: number | null;
  readonly heard: Heard;
  /** Own history without the current session. */
  readonly baseline: SocialBaseline | undefined;
  readonly classNorm: Norm | undefined;
}

/** Sentiment of messages against the instrument's own habit; confidence n/(n + 10). */
export function readSocial(context: SocialContext): Reading {
  const { at, dayMs, feedAt, asOf } = context;
  const { counters, clarity } = context.heard;
  if (asOf === null) return unread("not_observed");
  const maxAge = STALE_AFTER_DAYS * dayMs;
  if (feedAt === null || at - feedAt > maxAge) return unread("stale", { asOf });

  const seen = { asOf, staleAfter: feedAt + maxAge };
  if (clarity !== "clear") {
    return unread(clarity === "silent" ? "no_activity" : "insufficient_data", seen);
  }
  const { value, effectiveMessages } = bullishness(counters);

  const norm = normOf(context);
  const z = norm === undefined ? null : sentimentZ(value, effectiveMessages, norm);
  const inputs = socialInputs({ value, effectiveMessages, z, counters, asOf });
  if (z === null) return unread("insufficient_data", { ...seen, inputs });
  const confidence = effectiveMessages / (effectiveMessages + SHRINKAGE);
  return { z, confidence, status: "ok", ...seen, inputs };
}

function normOf({ baseline, classNorm }: SocialContext): Norm | undefined {
  const hasHistory = baseline !== undefined && baseline.sessions >= MIN_BASELINE_SESSIONS;
  const norm = hasHistory ? { mean: baseline.mean, sd: Math.sqrt(baseline.variance) } : classNorm;
  return norm !== undefined && norm.sd > 0 ? norm : undefined;
}

function socialInputs(seen: {
  readonly value: number;
  readonly effectiveMessages: number;
  readonly z: number | null;
  readonly counters: SocialCounters;
  readonly asOf: number | null;
}): Input[] {
  const { value, effectiveMessages, z, counters, asOf } = seen;
  const shown = (name: string, value: number, unit: string): Input => ({
    name,
    value,
    unit,
    z: null,
    weight: 0,
    observedAt: asOf,
  });
  return [
    { ...shown("bullishness", value, "log ratio"), z, weight: z === null ? 0 : 1 },
    shown("effectiveMessages", effectiveMessages, "count"),
    shown("bullishWeight", counters.bullish, "weight"),
    shown("bearishWeight", counters.bearish, "weight"),
  ];
}
