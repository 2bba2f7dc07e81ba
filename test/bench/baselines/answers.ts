import { readFileSync } from "node:fs";
import { tools } from "../../../tools/index.ts";
import { keyOf } from "../harness/questions.ts";

/** What the service answered, by the keys of questions. */
export type Answers = Readonly<Record<string, object>>;

/** Reads what the service answered. */
export const readAnswers = (file: string): Answers =>
  JSON.parse(readFileSync(file, "utf8")) as Answers;

/** A message of MCP as far as a fixed answer needs it. */
export interface Message {
  readonly id: number;
  readonly method: string;
  readonly params?: { readonly arguments?: { readonly symbol?: string } };
}

/** The fixed answer to a message. */
export function answerTo(
  { id, method, params }: Message,
  version: unknown,
  answers: Answers,
): object {
  const result = answers[keyOf(String(version), method, params?.arguments?.symbol)];
  return { jsonrpc: "2.0", id, result };
}

/** The tools of the service; each answers what the service says of a signal. */
export const fixedTools = (answers: Answers) =>
  tools.map((tool) => ({
    ...tool,
    answer(input: object): Record<string, unknown> {
      const { symbol } = input as { readonly symbol: string };
      return answers[`/api/signals?symbol=${symbol}`] as Record<string, unknown>;
    },
  }));
