import { createReadStream } from "node:fs";
import { basename } from "node:path";
import { createInterface } from "node:readline";
import { z } from "zod";
import { parseJson } from "../../lib/json.ts";
import type { LabeledMessage } from "../../messages/hashed-linear/training.ts";
import { SENTIMENT_LABELS } from "../../messages/hashed-linear.ts";
import { CROSS_VALIDATION_FOLDS } from "./cross-validation.ts";

const Line = z.object({ text: z.string().min(1), label: z.enum(SENTIMENT_LABELS) });

/** Error messages by invalid member. */
const faults: Readonly<Record<string, string>> = {
  text: '"text" has to be a text that is not empty',
  label: `"label" has to be bullish, bearish or neutral`,
};

/**
 * Reads labeled messages, one JSON object per line; empty lines and unknown members are ignored.
 *
 * @throws {Error} If the file cannot be read, a line is invalid, or there are too few messages.
 */
export async function readLabeledMessages(file: string): Promise<readonly LabeledMessage[]> {
  const messages: LabeledMessage[] = [];
  let number = 0;
  const lines = createInterface({ input: createReadStream(file, "utf8"), crlfDelay: Infinity });
  for await (const line of lines) {
    number++;
    const written = number === 1 ? line.replace(/^\ufeff/u, "") : line;
    if (written.trim() !== "") messages.push(messageIn(written, `${basename(file)}:${number}`));
  }
  requireEnough(messages, basename(file));
  return messages;
}

/**
 * Parses one line of the file.
 *
 * @param place Location for error messages, for example `labelled.jsonl:12`.
 */
function messageIn(line: string, place: string): LabeledMessage {
  const json = parseJson(line);
  if (json === undefined) throw new Error(`${place}: the line is no JSON.`);
  const { success, data, error } = Line.safeParse(json);
  if (success) return data;
  const fault = faults[String(error.issues[0]?.path[0])] ?? "the line has to be a JSON object";
  throw new Error(`${place}: ${fault}.`);
}

/** Requires enough bullish and bearish messages, since the ROC curve needs both in every fold. */
function requireEnough(messages: readonly LabeledMessage[], file: string): void {
  for (const side of ["bullish", "bearish"] as const) {
    const count = messages.filter(({ label }) => label === side).length;
    if (count < CROSS_VALIDATION_FOLDS) {
      throw new Error(
        `${file}: ${count} ${side} messages are too few; at least ${CROSS_VALIDATION_FOLDS} are needed.`,
      );
    }
  }
}
