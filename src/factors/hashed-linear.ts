import { bucketsOf } from "./hashed-linear/features.ts";

/** What a message can be labelled with, in the order of the weights. */
export const LABELS = ["bearish", "neutral", "bullish"] as const;

/** How a person or a rule labelled a message. */
export type Label = (typeof LABELS)[number];

/** A linear classifier of messages over hashed words and pairs of words. */
export interface HashedLinear {
  /** Weight of each label in each bucket, in steps of the label's scale. */
  readonly weights: Int8Array;
  /** Log-odds per step, one for each label. */
  readonly scales: readonly number[];
}

/**
 * How bullish (1) or bearish (-1) a model finds a message: P(bullish) - P(bearish), each by
 * softmax over the labels; what the weights say of an empty message when it has no words.
 *
 * @param tokens Of the message, as `tokensOf` gives them.
 */
export function modelledPolarity(model: HashedLinear, tokens: readonly string[]): number {
  const buckets = bucketsOf(tokens);
  const norm = 1 / Math.sqrt(buckets.length);
  const [bearish = 0, , bullish = 0] = softmax(
    model.scales.map((scale, label) => scale * norm * summed(model.weights, buckets, label)),
  );
  return bullish - bearish;
}

/** Probabilities of log-odds, without overflow. */
export function softmax(logOdds: readonly number[]): readonly number[] {
  const top = Math.max(...logOdds);
  const shares = logOdds.map((each) => Math.exp(each - top));
  const total = shares.reduce((sum, share) => sum + share, 0);
  return shares.map((share) => share / total);
}

function summed(weights: Int8Array, buckets: Uint16Array, label: number): number {
  let sum = 0;
  for (const bucket of buckets) sum += weights[bucket * LABELS.length + label] ?? 0;
  return sum;
}
