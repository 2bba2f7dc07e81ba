import {
  type HashedLinearModel,
  SENTIMENT_LABELS,
  type SentimentLabel,
  softmax,
  sumOfLabelWeights,
} from "../hashed-linear.ts";
import { tokenize } from "../message/tokens.ts";
import { FEATURE_BUCKETS, featureBucketsOf } from "./features.ts";

/** Number of passes over all messages. */
export const TRAINING_EPOCHS = 8;

/** Initial learning rate in log-odds (AdaGrad: Duchi, Hazan & Singer, 2011). */
const LEARNING_RATE = 0.15;

/** Added under the square root so that the first AdaGrad step is finite. */
const EPSILON = 1e-8;

/** Largest quantized weight, in absolute value. */
const MAX_STEP = 127;

/** A message with its label. */
export interface LabeledMessage {
  readonly text: string;
  readonly label: SentimentLabel;
}

/** Features and label of a message. */
interface Example {
  readonly buckets: Uint16Array;
  /** Index of the label in `SENTIMENT_LABELS`. */
  readonly label: number;
}

/** Weights during training, and the sums of their squared gradients. */
interface Learned {
  readonly weights: Float64Array;
  readonly squares: Float64Array;
}

/** Options of a training run. */
interface Training {
  /** 32-bit integer; the same messages and seed give the same model, bit for bit. */
  readonly seed: number;
  /** Called after every pass over the messages. */
  readonly onEpoch: () => void;
}

/**
 * Trains a multinomial logistic regression with AdaGrad, shuffling the messages before every pass.
 * The feature vector of each message is scaled to length 1. Without messages, all labels have the
 * same probability.
 */
export function trainHashedLinear(
  messages: readonly LabeledMessage[],
  { seed, onEpoch }: Training,
): HashedLinearModel {
  const examples = messages.map(({ text, label }) => ({
    buckets: featureBucketsOf(tokenize(text)),
    label: SENTIMENT_LABELS.indexOf(label),
  }));
  const size = FEATURE_BUCKETS * SENTIMENT_LABELS.length;
  const learned = { weights: new Float64Array(size), squares: new Float64Array(size) };
  const random = mulberry32(seed);
  for (let epoch = 0; epoch < TRAINING_EPOCHS; epoch++) {
    for (const example of shuffled(examples, random)) learn(learned, example);
    onEpoch();
  }
  return quantized(learned.weights);
}

/** One gradient step on the log loss of one message. */
function learn({ weights, squares }: Learned, { buckets, label }: Example): void {
  const norm = 1 / Math.sqrt(buckets.length);
  const odds = SENTIMENT_LABELS.map((_, each) => norm * sumOfLabelWeights(weights, buckets, each));
  for (const [each, probability] of softmax(odds).entries()) {
    const gradient = (probability - (each === label ? 1 : 0)) * norm;
    for (const bucket of buckets) {
      const at = bucket * SENTIMENT_LABELS.length + each;
      const square = (squares[at] ?? 0) + gradient ** 2;
      squares[at] = square;
      weights[at] = (weights[at] ?? 0) - (LEARNING_RATE * gradient) / Math.sqrt(square + EPSILON);
    }
  }
}

/** Quantizes the weights to signed bytes, with one scale per label. */
function quantized(weights: Float64Array): HashedLinearModel {
  const scales = SENTIMENT_LABELS.map((_, label) => {
    let largest = 0;
    for (let at = label; at < weights.length; at += SENTIMENT_LABELS.length) {
      largest = Math.max(largest, Math.abs(weights[at] ?? 0));
    }
    return largest === 0 ? 1 : largest / MAX_STEP;
  });
  const steps = Int8Array.from(weights, (weight, at) =>
    Math.round(weight / (scales[at % SENTIMENT_LABELS.length] ?? 1)),
  );
  return { weights: steps, scales };
}

/** A random permutation (Fisher-Yates shuffle). */
function shuffled<T>(items: readonly T[], random: () => number): readonly T[] {
  const order = [...items];
  for (let last = order.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [order[last], order[other]] = [order[other] as T, order[last] as T];
  }
  return order;
}

/**
 * Creates a seeded generator of uniform random numbers in [0, 1) (mulberry32 by Tommy Ettinger).
 */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
