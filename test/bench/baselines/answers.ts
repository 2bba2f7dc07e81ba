import { readFileSync } from "node:fs";
import { tools } from "../../../tools/index.ts";
import { keyOf } from "../harness/questions.ts";

/** The service's recorded answers, by question key. */
export type Answers = Readonly<Record<string, object>>;

/** Reads the service's recorded answers from a JSON file. */
export const readAnswers = (file: string): Answers =>
  JSON.parse(readFileSync(file, "utf8")) as Answers;

/** The parts of an MCP message that determine its fixed answer. */
export interface Message {
  readonly id: number;
  readonly method: string;
  readonly params?: { readonly arguments?: { readonly symbol?: string } };
}

/** Returns the fixed answer to an MCP message. */
export function answerTo(
  { id, method, params }: Message,
  version: unknown,
  answers: Answers,
): object {
  const result = answers[keyOf(String(version), method, params?.arguments?.symbol)];
  return { jsonrpc: "2.0", id, result };
}

/** The service's tools; each returns the recorded signal of the requested symbol. */
export const fixedTools = (answers: Answers) =>
  tools.map((tool) => ({
    ...tool,
    answer(input: object): Record<string, unknown> {
      const { symbol } = input as { readonly symbol: string };
      return answers[`/api/signals?symbol=${symbol}`] as Record<string, unknown>;
    },
  }));
