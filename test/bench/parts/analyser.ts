import { readFileSync } from "node:fs";
import {
  type LabeledMessage,
  trainHashedLinear,
} from "../../../src/messages/hashed-linear/training.ts";
import { messagePolarity } from "../../../src/messages/polarity.ts";
import { median } from "../harness/numbers.ts";
import { showProgress } from "../harness/progress.ts";
import type { Effort, Part, Row } from "../harness/report.ts";

/** Number of messages read in one round. */
const MESSAGES = 50_000;

/** Goal: messages per second on one core. */
const ASKED = 50_000;

/** Measures the reading of social messages, with and without a trained model. */
export async function analyser({ isQuick }: Effort): Promise<Part> {
  showProgress(`Reading ${MESSAGES.toLocaleString("en")} messages repeatedly`);
  const labelled = readMessages();
  const model = trainHashedLinear(labelled, { seed: 1, onEpoch: () => {} });
  const texts = textsFrom(labelled);
  const readers = {
    "by lexicon": (text: string) => messagePolarity(text),
    "by lexicon and model": (text: string) => messagePolarity(text, model),
  };
  const rounds = Array.from({ length: isQuick ? 3 : 7 });
  const raw = Object.entries(readers).map(
    ([name, read]) => [name, rounds.map(() => rateOf(texts, read))] as const,
  );
  const rows = raw.map(
    ([name, rates]): Row => ({
      ...{ budget: `social analyser ${name}`, figure: median(rates) },
      ...{ unit: "messages a second of CPU", goal: { least: ASKED } },
    }),
  );
  return { rows, raw: Object.fromEntries(raw) };
}

const readMessages = (): readonly LabeledMessage[] =>
  readFileSync(new URL("../../fixtures/messages.jsonl", import.meta.url), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as LabeledMessage);

/**
 * Joins two sentences into a message of about 90 characters, and adds a number that makes each
 * message unique.
 */
function textsFrom(labelled: readonly LabeledMessage[]): readonly string[] {
  return Array.from({ length: MESSAGES }, (_, at) => {
    const said = (step: number) => labelled[(at * step) % labelled.length]?.text ?? "";
    return `${said(7)}. ${said(11)} ${at}`;
  });
}

/** Messages per second of CPU time. */
function rateOf(texts: readonly string[], read: (text: string) => number): number {
  const before = process.cpuUsage();
  let sum = 0;
  for (const text of texts) sum += read(text);
  const { user, system } = process.cpuUsage(before);
  if (!Number.isFinite(sum)) throw new Error("A message was not read.");
  return texts.length / ((user + system) / 1e6);
}
