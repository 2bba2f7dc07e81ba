import { createServer, type IncomingMessage } from "node:http";
import { json } from "node:stream/consumers";
import type { ModelAddress } from "../evals/models.ts";
import type { Answer, Step, Task } from "../evals/task.ts";
import { atFileEnd } from "./file-end.ts";
import { listenLocally } from "./local-server.ts";

/** The parts of a message that the server reads, in either format. */
interface Message {
  readonly role: string;
  readonly content: string | null | readonly Block[];
  readonly tool_calls?: readonly { readonly id: string }[];
  readonly tool_call_id?: string;
}

interface Block {
  readonly type: string;
  readonly text?: string;
  readonly id?: string;
  readonly tool_use_id?: string;
  readonly content?: string;
  readonly is_error?: boolean;
}

interface Request {
  readonly model: string;
  readonly max_tokens: number;
  readonly messages: readonly Message[];
  readonly tools: readonly {
    readonly name?: string;
    readonly input_schema?: object;
    readonly type?: string;
    readonly function?: { readonly name: string; readonly parameters: object };
  }[];
}

/** An answer of the model: tool calls, or a text. */
type Said =
  | { readonly calls: readonly (readonly [tool: string, given: object])[] }
  | { readonly text: string };

/**
 * Starts a server with the HTTP API of a model, in one of the formats. The model recognizes some
 * tasks by their questions, makes the calls of their reference solutions, and answers any other
 * question with "I do not know". A request that violates the format is answered with 400.
 */
export async function startModelServer(
  format: ModelAddress["format"],
  known: readonly Task[],
): Promise<ModelAddress> {
  const key = `key-of-${format}`;
  const server = createServer(async (request, response) => {
    const body = (await json(request)) as Request;
    const fault = (format === "openai" ? faultOfChat : faultOfMessages)(request, body, key);
    const said = fault === undefined ? turnOf(body.messages, known) : { text: "" };
    response
      .writeHead(fault === undefined ? 200 : 400, { "content-type": "application/json" })
      .end(JSON.stringify(fault ?? (format === "openai" ? asChat(said) : asMessages(said))));
  });
  const url = await listenLocally(server);
  atFileEnd(() => server.close());
  return { format, url, key, model: "reference" };
}

/** The next answer of the model, given all messages so far. */
function turnOf([first, ...rest]: readonly Message[], known: readonly Task[]): Said {
  const task = known.find(({ question }) => String(first?.content).startsWith(question));
  if (task === undefined) return { text: "I do not know" };
  const answers = rest.flatMap(answersIn);
  const step = task.solution[answers.length];
  if (step === undefined) return { text: task.form.write(task.answer(answers as never)) };
  if ("tell" in step) return { text: `Please do this: ${step.tell(answers as never)}` };
  const following = task.solution.slice(answers.length + 1);
  const end = following.findIndex((next) => "tell" in next || typeof next[1] === "function");
  const together: readonly Step[] = [step, ...following.slice(0, end < 0 ? undefined : end)];
  return {
    calls: together.flatMap((one) =>
      "tell" in one
        ? []
        : [[one[0], typeof one[1] === "function" ? one[1](answers as never) : one[1]]],
    ),
  };
}

/** Tool results and replies of the person in a message. */
function answersIn({ role, content }: Message): readonly Answer[] {
  if (role === "assistant" || content === null) return [];
  if (typeof content === "string") return [answerIn(content, content.startsWith("error: "))];
  return content.map(({ content: text = "", is_error = false }) => answerIn(text, is_error));
}

function answerIn(text: string, isError: boolean): Answer {
  const figures = text.startsWith("{") ? (JSON.parse(text) as object) : {};
  return { ...figures, text, isError } as Answer;
}

/**
 * The error body for a request that violates the chat completions format; otherwise `undefined`.
 */
function faultOfChat(
  { url, headers }: IncomingMessage,
  { messages, tools }: Request,
  key: string,
): object | undefined {
  const open: string[] = [];
  const isInOrder = messages.every(({ role, tool_calls = [], tool_call_id }) => {
    if (role === "tool") return open.shift() === tool_call_id;
    const isAnswered = open.length === 0;
    open.push(...tool_calls.map(({ id }) => id));
    return isAnswered;
  });
  const areTools = tools.every(({ type, function: one }) => type === "function" && one?.parameters);
  const isFit = url === "/chat/completions" && headers.authorization === `Bearer ${key}`;
  return isFit && isInOrder && areTools && open.length === 0 ? undefined : { error: "bad request" };
}

/**
 * The error body for a request that violates the messages format, in which results must follow
 * their calls in the next message, and roles must alternate; otherwise `undefined`.
 */
function faultOfMessages(
  { url, headers }: IncomingMessage,
  { messages, tools, max_tokens }: Request,
  key: string,
): object | undefined {
  let open: readonly string[] = [];
  const isInOrder = messages.every(({ role, content }, at) => {
    const blocks = typeof content === "string" || content === null ? [] : content;
    const results = blocks.flatMap(({ tool_use_id }) => tool_use_id ?? []);
    const isAnswered = results.join() === open.join();
    open = blocks.flatMap(({ type, id }) => (type === "tool_use" ? (id ?? "") : []));
    return role === (at % 2 === 0 ? "user" : "assistant") && isAnswered;
  });
  const isFit =
    url === "/v1/messages" &&
    headers["x-api-key"] === key &&
    headers["anthropic-version"] !== undefined &&
    max_tokens > 0 &&
    tools.every(({ name, input_schema }) => name && input_schema);
  return isFit && isInOrder && open.length === 0 ? undefined : { error: "bad request" };
}

const callId = (at: number): string => `call-${at}`;

function asChat(said: Said): object {
  if ("text" in said) return { choices: [{ message: { role: "assistant", content: said.text } }] };
  const tool_calls = said.calls.map(([name, given], at) => ({
    id: callId(at),
    type: "function",
    function: { name, arguments: JSON.stringify(given) },
  }));
  return { choices: [{ message: { role: "assistant", content: null, tool_calls } }] };
}

function asMessages(said: Said): object {
  if ("text" in said) return { role: "assistant", content: [{ type: "text", text: said.text }] };
  const content = said.calls.map(([name, input], at) => ({
    ...{ type: "tool_use", id: callId(at), name, input },
  }));
  return { role: "assistant", content };
}
