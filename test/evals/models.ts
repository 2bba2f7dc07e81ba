import { z } from "zod";
import type { Result, ShownTool } from "./round.ts";

/** The supported model APIs. */
export const FORMATS = ["openai", "anthropic"] as const;

/** Address and credentials of a model. */
export interface ModelAddress {
  readonly format: (typeof FORMATS)[number];
  /** Base URL: the API path `/chat/completions` or `/v1/messages` is appended. */
  readonly url: string;
  readonly key: string;
  readonly model: string;
}

/** A tool call that a model requests. */
interface WantedCall {
  readonly id: string;
  readonly tool: string;
  readonly given: object;
}

/** A turn of a model: tool calls, or only a text. */
interface Turn {
  readonly text: string;
  readonly calls: readonly WantedCall[];
}

/** A conversation with a model. */
export interface Conversation {
  /** Requests the next turn of the model. @throws {Error} When the request fails. */
  next(): Promise<Turn>;
  /** Passes the results of the last turn's tool calls to the model, in the order of the calls. */
  give(results: readonly Result[]): void;
  /** Sends the model a message from the person. */
  say(text: string): void;
}

/** Maximum length of a model's answer, in tokens. */
const MAX_TOKENS = 4_096;

/** Timeout of a request to a model, in milliseconds. */
const TIMEOUT_MS = 300_000;

/** Value of the `anthropic-version` header. */
const MESSAGES_VERSION = "2023-06-01";

/** Starts a conversation. @param tools Tools that the model may call. */
export const converse = (
  address: ModelAddress,
  question: string,
  tools: readonly ShownTool[],
): Conversation =>
  ({ openai: chatCompletions, anthropic: messagesApi })[address.format](address, question, tools);

async function post(url: string, headers: Readonly<Record<string, string>>, body: object) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url} answers ${response.status}: ${text.slice(0, 500)}`);
  return JSON.parse(text) as unknown;
}

/** Text of a result in API formats that have no error flag. */
const marked = ({ text, isError }: Result): string => (isError ? `error: ${text}` : text);

const Completion = z.object({
  choices: z.tuple(
    [
      z.object({
        message: z.looseObject({
          content: z.string().nullish(),
          tool_calls: z
            .array(
              z.looseObject({
                id: z.string(),
                function: z.object({ name: z.string(), arguments: z.string() }),
              }),
            )
            .nullish(),
        }),
      }),
    ],
    z.unknown(),
  ),
});

function chatCompletions(
  { url, key, model }: ModelAddress,
  question: string,
  shown: readonly ShownTool[],
): Conversation {
  const messages: object[] = [{ role: "user", content: question }];
  const tools = shown.map(({ name, description, inputSchema }) => ({
    type: "function",
    function: { name, description, parameters: inputSchema },
  }));
  let wanted: readonly WantedCall[] = [];
  return {
    async next() {
      const body = { model, messages, tools, max_tokens: MAX_TOKENS };
      const headers = { authorization: `Bearer ${key}` };
      const answer = Completion.parse(await post(`${url}/chat/completions`, headers, body));
      const { message } = answer.choices[0];
      messages.push({ role: "assistant", ...message });
      wanted = (message.tool_calls ?? []).map(({ id, function: { name, arguments: given } }) => ({
        ...{ id, tool: name, given: objectIn(given) },
      }));
      return { text: message.content ?? "", calls: wanted };
    },
    give(results) {
      for (const [at, result] of results.entries()) {
        messages.push({ role: "tool", tool_call_id: wanted[at]?.id, content: marked(result) });
      }
    },
    say: (text) => void messages.push({ role: "user", content: text }),
  };
}

/**
 * Parses the arguments of a tool call. Arguments that are no JSON object are passed on under
 * `arguments`, so that the tool rejects them.
 */
function objectIn(text: string): object {
  try {
    const value: unknown = JSON.parse(text === "" ? "{}" : text);
    return typeof value === "object" && value !== null ? value : { arguments: text };
  } catch {
    return { arguments: text };
  }
}

const Message = z.object({
  content: z.array(
    z.looseObject({
      type: z.string(),
      text: z.string().optional(),
      id: z.string().optional(),
      name: z.string().optional(),
      input: z.record(z.string(), z.unknown()).optional(),
    }),
  ),
});

function messagesApi(
  { url, key, model }: ModelAddress,
  question: string,
  shown: readonly ShownTool[],
): Conversation {
  const messages: object[] = [{ role: "user", content: question }];
  const tools = shown.map(({ name, description, inputSchema }) => ({
    ...{ name, description, input_schema: inputSchema },
  }));
  let wanted: readonly WantedCall[] = [];
  return {
    async next() {
      const headers = { "x-api-key": key, "anthropic-version": MESSAGES_VERSION };
      const body = { model, messages, tools, max_tokens: MAX_TOKENS };
      const { content } = Message.parse(await post(`${url}/v1/messages`, headers, body));
      messages.push({ role: "assistant", content });
      wanted = content.flatMap(({ type, id = "", name = "", input = {} }) =>
        type === "tool_use" ? { id, tool: name, given: input } : [],
      );
      const texts = content.flatMap(({ type, text = "" }) => (type === "text" ? text : []));
      return { text: texts.join("\n"), calls: wanted };
    },
    give(results) {
      const content = results.map(({ text, isError }, at) => ({
        ...{ type: "tool_result", tool_use_id: wanted[at]?.id, content: text, is_error: isError },
      }));
      messages.push({ role: "user", content });
    },
    say: (text) => void messages.push({ role: "user", content: text }),
  };
}
