import { LABELS } from "../../factors/hashed-linear.ts";
import { counted } from "../wording.ts";
import { FOLDS, type Judged } from "./folds.ts";
import { accuracy, areaUnderCurve } from "./quality.ts";

/** Readers, with what people call them. */
const readers = [
  ["lexicon", "lexicon alone"],
  ["model", "model alone"],
  ["average", "average"],
] as const;

/** How well each reader reads, as a table. */
export function qualityText(judged: readonly Judged[]): string {
  const counts = LABELS.map((label) => {
    const count = judged.filter((each) => each.label === label).length;
    return `${counted(count)} ${label}`;
  });
  const rows = readers.map(([reader, name]) => {
    const readings = judged.map((each) => ({ polarity: each[reader], label: each.label }));
    return row(name, areaUnderCurve(readings).toFixed(4), accuracy(readings).toFixed(4));
  });
  return [
    `${counted(judged.length)} messages: ${counts.join(", ")}`,
    `Each read by a model trained on the other ${FOLDS - 1} of ${FOLDS} parts:`,
    "",
    row("", "AUC", "accuracy"),
    ...rows,
    "",
    "AUC: bullish ranked over bearish, neutral left out, 0.5 is chance. Accuracy: counted as labelled.",
  ].join("\n");
}

const row = (name: string, area: string, share: string): string =>
  `  ${name.padEnd(16)}${area.padStart(8)}${share.padStart(10)}`;
