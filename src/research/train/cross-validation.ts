import { fnv1a } from "../../messages/hashed-linear/fnv1a.ts";
import { type LabeledMessage, trainHashedLinear } from "../../messages/hashed-linear/training.ts";
import type { SentimentLabel } from "../../messages/hashed-linear.ts";
import { SOCIAL_COUNTER_RULES } from "../../messages/message-counters.ts";
import { messagePolarity, normalizeMessageText } from "../../messages/polarity.ts";

/** Number of folds in the cross-validation. */
export const CROSS_VALIDATION_FOLDS = 5;

/** Polarities of a message by a model that was not trained on it, in [-1, 1]. */
export interface OutOfFoldPolarity {
  readonly label: LabeledMessage["label"];
  readonly lexicon: number;
  readonly model: number;
  /** Mean of the lexicon's and the model's polarity, which a service with the model uses. */
  readonly average: number;
}

/** Options of the cross-validation. */
interface Training {
  readonly seed: number;
  /** Called after every pass of a model over its training messages. */
  readonly onEpoch: () => void;
}

/** Predicts every message with a model trained on the other folds. */
export function computeOutOfFoldPolarities(
  messages: readonly LabeledMessage[],
  training: Training,
): readonly OutOfFoldPolarity[] {
  const byFold = Map.groupBy(messages, ({ text }) => foldOf(text));
  return Array.from({ length: CROSS_VALIDATION_FOLDS }, (_, fold) => {
    const model = trainHashedLinear(
      messages.filter(({ text }) => foldOf(text) !== fold),
      training,
    );
    return (byFold.get(fold) ?? []).map(({ text, label }) => {
      const lexicon = messagePolarity(text);
      const average = messagePolarity(text, model);
      return { label, lexicon, average, model: 2 * average - lexicon };
    });
  }).flat();
}

/**
 * The fold of a message. Duplicates share a fold, so that no model is tested on its training data.
 */
const foldOf = (text: string): number => fnv1a(normalizeMessageText(text)) % CROSS_VALIDATION_FOLDS;

/** Predicted polarity and true label of a message. */
export interface LabeledPolarity {
  /** Predicted polarity in [-1, 1]. */
  readonly polarity: number;
  readonly label: SentimentLabel;
}

/**
 * Area under the ROC curve: the probability that a bullish message has a higher polarity than a
 * bearish message, where a tie counts as half (Mann-Whitney U by mid-ranks). Neutral messages are
 * ignored; NaN if there are no bullish or no bearish messages.
 */
export function areaUnderCurve(readings: readonly LabeledPolarity[]): number {
  const sided = readings.filter(({ label }) => label !== "neutral");
  const ties = Map.groupBy(sided, ({ polarity }) => polarity);
  let [wins, bearishBelow] = [0, 0];
  for (const value of [...ties.keys()].sort((a, b) => a - b)) {
    const tied = ties.get(value) ?? [];
    const bullish = tied.filter(({ label }) => label === "bullish").length;
    const bearish = tied.length - bullish;
    wins += bullish * (bearishBelow + bearish / 2);
    bearishBelow += bearish;
  }
  return wins / (bearishBelow * (sided.length - bearishBelow));
}

/** Fraction of the messages that are classified correctly, in [0, 1]; NaN without messages. */
export function accuracy(readings: readonly LabeledPolarity[]): number {
  return (
    readings.filter(({ polarity, label }) => counted(polarity) === label).length / readings.length
  );
}

/** The label that a polarity implies, by the thresholds of the social factor. */
function counted(polarity: number): SentimentLabel {
  if (Math.abs(polarity) <= SOCIAL_COUNTER_RULES.minPolarity) return "neutral";
  return polarity > 0 ? "bullish" : "bearish";
}
