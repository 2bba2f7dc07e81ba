import { fnv1a } from "../../factors/hashed-linear/fnv1a.ts";
import { type LabelledMessage, train } from "../../factors/hashed-linear/training.ts";
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
