import { resolve } from "node:path";
import { z } from "zod";
import { replaceFile } from "../../lib/replace-file.ts";
import { serializeModel } from "../../messages/hashed-linear/file.ts";
import {
  TRAINING_EPOCHS,
  trainHashedLinear as trainModel,
} from "../../messages/hashed-linear/training.ts";
import { SENTIMENT_LABELS } from "../../messages/hashed-linear.ts";
import {
  accuracy,
  areaUnderCurve,
  CROSS_VALIDATION_FOLDS,
  computeOutOfFoldPolarities,
  type OutOfFoldPolarity,
} from "../../research/train/cross-validation.ts";
import { readLabeledMessages } from "../../research/train/labeled-messages.ts";
import { defineLocalCommand } from "../command.ts";
import { formatCount, sizeText } from "../format.ts";

/** Seed for the order of the messages in training. */
const SEED = 20_141_231;

/** Trains the optional model of the social factor. */
export const trainCommand = defineLocalCommand({
  summary: "Trains the optional model of the social factor from labelled messages.",
  notes: [
    'The messages are one JSON object a line: {"text": "...", "label": "bullish"}, where a label is',
    "bullish, bearish or neutral. First the model is measured on messages that it has not seen, beside",
    "the lexicon and beside the average of the two, which is what a service with",
    "SOCIAL_MODEL=model.json reads.",
  ],
  options: {
    in: { value: "<file>", isRequired: true, about: "the labelled messages" },
    out: { value: "<file>", about: "where the model goes; model.json unless given" },
  },
  args: z.strictObject({
    in: z.string("is missing: name the labelled messages"),
    out: z.string().default("model.json"),
  }),

  async run({ in: from, out }, { folder, progress }) {
    const messages = await readLabeledMessages(resolve(folder, from));
    const epochs = TRAINING_EPOCHS * (CROSS_VALIDATION_FOLDS + 1);
    let done = 0;
    const onEpoch = () => {
      done++;
      const model = Math.ceil(done / TRAINING_EPOCHS);
      const doing =
        model > CROSS_VALIDATION_FOLDS
          ? "training"
          : `measuring, part ${model} of ${CROSS_VALIDATION_FOLDS}`;
      progress.show({ doing, rows: messages.length, fraction: done / epochs, unit: "messages" });
    };
    const predictions = computeOutOfFoldPolarities(messages, { seed: SEED, onEpoch });
    const text = serializeModel(trainModel(messages, { seed: SEED, onEpoch }));
    const file = resolve(folder, out);
    await replaceFile(file, (handle) => handle.writeFile(text));
    return {
      isGood: true,
      lines: [...qualityLines(predictions), "", `${file}: ${sizeText(text.length)}`],
      result: {
        file,
        bytes: text.length,
        messages: messages.length,
        quality: qualityOf(predictions),
      },
      notes: [],
    };
  },
});

/** The message readers, with their names in the table. */
const readers = [
  ["lexicon", "lexicon alone"],
  ["model", "model alone"],
  ["average", "average"],
] as const;

/** Area under the ROC curve and accuracy of each reader. */
function qualityOf(predictions: readonly OutOfFoldPolarity[]) {
  return readers.map(([reader]) => {
    const readings = predictions.map((each) => ({ polarity: each[reader], label: each.label }));
    return { reader, auc: areaUnderCurve(readings), accuracy: accuracy(readings) };
  });
}

/** A table with the quality of each reader. */
function qualityLines(predictions: readonly OutOfFoldPolarity[]): readonly string[] {
  const counts = SENTIMENT_LABELS.map((label) => {
    const count = predictions.filter((each) => each.label === label).length;
    return `${formatCount(count)} ${label}`;
  });
  const names = new Map<string, string>(readers);
  const rows = qualityOf(predictions).map(({ reader, auc, accuracy }) =>
    row(names.get(reader) ?? reader, auc.toFixed(4), accuracy.toFixed(4)),
  );
  return [
    `${formatCount(predictions.length)} messages: ${counts.join(", ")}`,
    `Each read by a model trained on the other ${CROSS_VALIDATION_FOLDS - 1} of ${CROSS_VALIDATION_FOLDS} parts:`,
    "",
    row("", "AUC", "accuracy"),
    ...rows,
    "",
    "AUC: bullish ranked over bearish, neutral left out, 0.5 is chance. Accuracy: counted as labelled.",
  ];
}

const row = (name: string, area: string, share: string): string =>
  `  ${name.padEnd(16)}${area.padStart(8)}${share.padStart(10)}`;
