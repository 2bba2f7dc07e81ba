import { isDeepStrictEqual } from "node:util";
import type { Client } from "@modelcontextprotocol/client";
import { tokensOfText } from "../support/tokens.ts";
import type { Seat } from "./seats.ts";
import type { Answer, Answers, Step, Task } from "./task.ts";

/** A tool call by a player. */
interface Call {
  readonly tool: string;
  readonly given: object;
  readonly isError: boolean;
  /** Size of the result's text, in bytes. */
  readonly bytes: number;
  /** Number of tokens of the result's text, in the encoding o200k. */
  readonly tokens: number;
  readonly durationMs: number;
}

/** A tool as an MCP client shows it to a model. */
export interface ShownTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: object;
}

/** A tool result as an MCP client shows it to a model. */
export interface Result {
  readonly text: string;
  readonly isError: boolean;
}

/** Outcome of a task. */
export interface Outcome {
  readonly calls: readonly Call[];
  /** Messages from the player to the person. */
  readonly told: readonly string[];
  /** Answer of the player; absent: not answered yet. */
  readonly said?: string;
  readonly isSolved: boolean;
}

/** A task in progress. */
export interface Round {
  readonly task: Task;
  /** The question, followed by a sentence that says in which form to answer. */
  readonly question: string;
  tools(): Promise<readonly ShownTool[]>;
  call(tool: string, given: object): Promise<Result>;
  /** Sends a message to the person. @returns Their reply. */
  tell(text: string): Promise<string>;
  /** Judges the answer and ends the task. @throws {Error} When the task has already ended. */
  answer(text: string): Promise<void>;
  /** `undefined` until the first call, message or answer. */
  outcome(): Outcome | undefined;
}

/** Starts a task. Its agent connects when the tools are first needed. */
export function openRound(seat: Seat): Round {
  const { task } = seat;
  const calls: Call[] = [];
  const told: string[] = [];
  let client: Promise<Client> | undefined;
  let ended: { readonly said: string; readonly isSolved: Promise<boolean> } | undefined;
  let isSolved = false;
  const connected = () => {
    client ??= seat.connect();
    return client;
  };
  const refuseEnded = () => {
    if (ended !== undefined) throw new Error("This task has been answered.");
  };
  return {
    task,
    question: `${task.question} ${task.form.says}`,
    async tools() {
      const { tools } = await (await connected()).listTools();
      return tools.map(({ name, description = "", inputSchema }) => ({
        ...{ name, description, inputSchema },
      }));
    },
    async call(tool, given) {
      refuseEnded();
      const open = await connected();
      const startedAt = performance.now();
      const { text, isError } = await callOf(open, tool, given);
      const durationMs = performance.now() - startedAt;
      const bytes = Buffer.byteLength(text);
      calls.push({ tool, given, isError, bytes, tokens: tokensOfText(text), durationMs });
      return { text, isError };
    },
    async tell(text) {
      refuseEnded();
      told.push(text);
      return seat.tell(text);
    },
    async answer(text) {
      refuseEnded();
      ended = { said: text, isSolved: judge(seat, text) };
      isSolved = await ended.isSolved;
    },
    outcome() {
      if (ended === undefined && calls.length + told.length === 0) return undefined;
      return { calls, told, ...(ended && { said: ended.said }), isSolved };
    },
  };
}

/** Calls a tool. A protocol error, such as an unknown tool, also counts as an error result. */
async function callOf(client: Client, name: string, given: object): Promise<Result> {
  try {
    const { content, isError = false } = await client.callTool({ name, arguments: { ...given } });
    const text = content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
    return { text, isError };
  } catch (error) {
    return { text: (error as Error).message, isError: true };
  }
}

/** Whether the answer is right and the required changes to the agent's data were made. */
export async function judge({ task, truth, own }: Seat, text: string): Promise<boolean> {
  const { form, expected, left } = task;
  const mine = await own();
  const isRight = form.fits(text, await expected(await truth(), mine));
  return isRight && (left === undefined || isDeepStrictEqual(await left.read(mine), left.is));
}

/**
 * Carries out the steps of a task's reference solution, but does not submit the answer.
 *
 * @returns The text of the answer.
 */
export async function playSolution(round: Round): Promise<string> {
  const { solution, answer, form } = round.task;
  const answers: Answer[] = [];
  for (const step of solution) answers.push(await take(round, step, answers as never));
  return form.write(answer(answers as never));
}

async function take(round: Round, step: Step, answers: Answers): Promise<Answer> {
  if ("tell" in step) {
    return { text: await round.tell(step.tell(answers)), isError: false } as Answer;
  }
  const [tool, given] = step;
  const { text, isError } = await round.call(
    tool,
    typeof given === "function" ? given(answers) : given,
  );
  return { ...(isError ? {} : (JSON.parse(text) as Answer)), text, isError } as Answer;
}
