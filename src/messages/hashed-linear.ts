import { featureBucketsOf } from "./hashed-linear/features.ts";

/** Labels of a message, in the order of the weights. */
export const SENTIMENT_LABELS = ["bearish", "neutral", "bullish"] as const;

/** Label of a message, assigned by a person or a rule. */
export type SentimentLabel = (typeof SENTIMENT_LABELS)[number];

/** A linear classifier of messages over hashed words and word pairs. */
export interface HashedLinearModel {
  /** Quantized weight of each label in each bucket; `scales` converts it to log-odds. */
  readonly weights: Int8Array;
  /** Log-odds per unit of weight, one for each label. */
  readonly scales: readonly number[];
}

/**
 * Polarity of a message by the model, in [-1, 1]: P(bullish) - P(bearish), with a softmax over the
 * labels. The intercepts alone determine the polarity of a message without words.
 *
 * @param tokens Tokens of the message (`tokenize`).
 */
export function modeledPolarity(model: HashedLinearModel, tokens: readonly string[]): number {
  const buckets = featureBucketsOf(tokens);
  const norm = 1 / Math.sqrt(buckets.length);
  const [bearish = 0, , bullish = 0] = softmax(
    model.scales.map(
      (scale, label) => scale * norm * sumOfLabelWeights(model.weights, buckets, label),
    ),
  );
  return bullish - bearish;
}

/** Softmax of log-odds, subtracting the maximum for numerical stability. */
export function softmax(logOdds: readonly number[]): readonly number[] {
  const top = Math.max(...logOdds);
  const shares = logOdds.map((each) => Math.exp(each - top));
  const total = shares.reduce((sum, share) => sum + share, 0);
  return shares.map((share) => share / total);
}

/** Sum of the weights of a label over the buckets of a message. */
export function sumOfLabelWeights(
  weights: Int8Array | Float64Array,
  buckets: Uint16Array,
  label: number,
): number {
  let sum = 0;
  for (const bucket of buckets) sum += weights[bucket * SENTIMENT_LABELS.length + label] ?? 0;
  return sum;
}
