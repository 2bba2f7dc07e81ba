import { readFileSync } from "node:fs";
import { type LabelledMessage, train } from "../../src/factors/hashed-linear/training.ts";
import { polarity } from "../../src/factors/polarity.ts";

/** Messages read in one round. */
const MESSAGES = 50_000;

const ROUNDS = 7;

/** Messages a second that one core has to read. */
const ASKED = 50_000;

const labelled = readFileSync(new URL("../fixtures/messages.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as LabelledMessage);
const model = train(labelled, { seed: 1, onEpoch: () => {} });

// Two sentences make a message of about 90 characters; numbers make all of them different.
const texts = Array.from({ length: MESSAGES }, (_, at) => {
  const said = (step: number) => labelled[(at * step) % labelled.length]?.text ?? "";
  return `${said(7)}. ${said(11)} ${at}`;
});

/** Messages a second of processor time. */
function round(read: (text: string) => number): number {
  const before = process.cpuUsage();
  let sum = 0;
  for (const text of texts) sum += read(text);
  const { user, system } = process.cpuUsage(before);
  if (!Number.isFinite(sum)) throw new Error("A message was not read.");
  return MESSAGES / ((user + system) / 1e6);
}

const report = (name: string, read: (text: string) => number) => {
  const rates = Array.from({ length: ROUNDS }, () => round(read)).toSorted((a, b) => a - b);
  const [slowest = 0, median = 0] = [rates[0], rates[Math.floor(ROUNDS / 2)]];
  const verdict = median >= ASKED ? "good" : "TOO SLOW";
  const columns = [median, slowest].map((rate) => `${Math.round(rate)}/s`.padStart(12));
  process.stdout.write(`${name.padEnd(20)}${columns.join("")}  ${verdict}\n`);
};

const length = texts.reduce((sum, text) => sum + text.length, 0) / MESSAGES;
process.stdout.write(
  `${MESSAGES} messages of ${length.toFixed(0)} characters, on one core; asked for: ${ASKED}/s\n` +
    `${"".padEnd(20)}${"median".padStart(12)}${"slowest".padStart(12)}\n`,
);
report("lexicon", (text) => polarity(text));
report("lexicon and model", (text) => polarity(text, model));
