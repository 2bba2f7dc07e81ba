import { readFileSync } from "node:fs";
import { messagePolarity } from "../../../src/messages/polarity.ts";
import { median } from "../harness/numbers.ts";
import { showProgress } from "../harness/progress.ts";
import type { Effort, Part, Row } from "../harness/report.ts";

/** Number of messages read in one round. */
const MESSAGES = 50_000;

/** Goal: messages per second on one core. */
const ASKED = 50_000;

interface Message {
  readonly text: string;
}

/** Measures the reading of social messages, by the lexicon. */
export async function analyser({ isQuick }: Effort): Promise<Part> {
  showProgress(`Reading ${MESSAGES.toLocaleString("en")} messages repeatedly`);
  const texts = textsFrom(readMessages());
  const rates = Array.from({ length: isQuick ? 3 : 7 }, () => rateOf(texts, messagePolarity));
  const row: Row = {
    ...{ budget: "social analyser by lexicon", figure: median(rates) },
    ...{ unit: "messages a second of CPU", goal: { least: ASKED } },
  };
  return { rows: [row], raw: { "by lexicon": rates } };
}

const readMessages = (): readonly Message[] =>
  readFileSync(new URL("../../fixtures/messages.jsonl", import.meta.url), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Message);

/**
 * Joins two sentences into a message of about 90 characters, and adds a number that makes each
 * message unique.
 */
function textsFrom(labelled: readonly Message[]): readonly string[] {
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
