import { fnv1a } from "../../factors/hashed-linear/fnv1a.ts";
import { type LabelledMessage, train } from "../../factors/hashed-linear/training.ts";
import type { Label } from "../../factors/hashed-linear.ts";
import { COUNTER_RULES } from "../../factors/message-counters.ts";
import { normalisedText, polarity } from "../../factors/polarity.ts";

/** Parts that the messages are divided into; each is read by a model trained on the others. */
export const FOLDS = 5;

/** What a message was read as, by one who had not seen it before; polarities in [-1, 1]. */
export interface Judged {
  readonly label: LabelledMessage["label"];
  readonly lexicon: number;
  readonly model: number;
  /** Mean of the two, as a service with the model reads. */
  readonly average: number;
}

/** How to train. */
interface Training {
  readonly seed: number;
  /** Called after every pass of a model over its messages. */
  readonly onEpoch: () => void;
}

/** Reads every message with a model trained on the folds that it is not in. */
export function judgeUnseen(
  messages: readonly LabelledMessage[],
  training: Training,
): readonly Judged[] {
  const byFold = Map.groupBy(messages, ({ text }) => foldOf(text));
  return Array.from({ length: FOLDS }, (_, fold) => {
    const model = train(
      messages.filter(({ text }) => foldOf(text) !== fold),
      training,
    );
    return (byFold.get(fold) ?? []).map(({ text, label }) => {
      const lexicon = polarity(text);
      const average = polarity(text, model);
      return { label, lexicon, average, model: 2 * average - lexicon };
    });
  }).flat();
}

/** Copies of a message share a fold, or a model would meet again what it was trained on. */
const foldOf = (text: string): number => fnv1a(normalisedText(text)) % FOLDS;

/** What a message was read as, and what it is known to say. */
export interface Reading {
  /** In [-1, 1]. */
  readonly polarity: number;
  readonly label: Label;
}

/**
 * Chance that a bullish message is read as more bullish than a bearish one, ties counting half
 * (Mann-Whitney U by mid-ranks), in [0, 1]; neutral ones are left out. NaN without both sides.
 */
export function areaUnderCurve(readings: readonly Reading[]): number {
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

/** Share of messages that would count as what they are, in [0, 1]; NaN without messages. */
export function accuracy(readings: readonly Reading[]): number {
  return (
    readings.filter(({ polarity, label }) => counted(polarity) === label).length / readings.length
  );
}

/** As the social factor counts. */
function counted(polarity: number): Label {
  if (Math.abs(polarity) <= COUNTER_RULES.minPolarity) return "neutral";
  return polarity > 0 ? "bullish" : "bearish";
}
