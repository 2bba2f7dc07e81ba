import { deepEqual } from "node:assert/strict";
import type { RawCall } from "../load.ts";
import type { Server } from "./server.ts";

/** Instruments of the sandbox that callers ask about in turn. */
const SYMBOLS = ["ALDER.SIM", "BYTEN.SIM", "DRIMO-USD.SIM", "GLIMO.SIM", "QUILM.SIM", "VERLA.SIM"];

/** Revisions of MCP that are compared: with the envelope in each message, and before. */
const ERAS = { modern: "2026-07-28", legacy: "2025-11-25" } as const;
export type Era = keyof typeof ERAS;

/** A request of a caller. */
export interface Question {
  /** Names it among all questions. */
  readonly key: string;
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Asks over REST. */
export const get = (path: string): Question => ({
  ...{ key: path, method: "GET", path, headers: { accept: "application/json" }, body: "" },
});

/** What a signal is asked for with over REST. */
export const restSignals = (): readonly Question[] =>
  SYMBOLS.map((symbol) => get(`/api/signals?symbol=${symbol}`));

/** Names the answer to a message. */
export const keyOf = (version: string, method: string, symbol = ""): string =>
  `${version} ${method} ${symbol}`;

/** What a client of MCP sends of itself with each message since 2026-07-28. */
const ENVELOPE = {
  "io.modelcontextprotocol/protocolVersion": ERAS.modern,
  "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1.0.0" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** Calls of get_signal, one for each symbol. */
export const callsOfGetSignal = (era: Era): readonly Question[] =>
  SYMBOLS.map((symbol) =>
    message(era, "tools/call", { name: "get_signal", arguments: { symbol } }),
  );

/** Asks for the list of tools. */
export const listOfTools = (era: Era): readonly Question[] => [message(era, "tools/list", {})];

interface Params {
  readonly name?: string;
  readonly arguments?: { readonly symbol: string };
}

function message(era: Era, method: string, params: Params): Question {
  const { name, arguments: given } = params;
  const isModern = era === "modern";
  return {
    ...{ key: keyOf(ERAS[era], method, given?.symbol), method: "POST", path: "/mcp" },
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": ERAS[era],
      ...(isModern && { "mcp-method": method, ...(name && { "mcp-name": name }) }),
    },
    body: JSON.stringify({
      ...{ jsonrpc: "2.0", id: 1, method },
      params: isModern ? { ...params, _meta: ENVELOPE } : params,
    }),
  };
}

const withToken = ({ headers }: Question, token: string) => ({
  ...{ ...headers, authorization: `Bearer ${token}` },
});

/** What a server answers to a question: the result of a message, or the whole body. */
export async function ask({ baseUrl }: Server, question: Question, token: string) {
  const { path, method, body, key } = question;
  const answer = await fetch(baseUrl + path, {
    ...{ method, headers: withToken(question, token) },
    ...(body !== "" && { body }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${key}: ${answer.status} ${text}`);
  const [, json = text] = /^data: (.*)$/m.exec(text) ?? [];
  const value = JSON.parse(json) as Record<string, unknown>;
  return (path === "/mcp" ? (value.result ?? value) : value) as Readonly<Record<string, unknown>>;
}

/**
 * The question as it goes over the wire, with text that only the right answer has in it.
 *
 * @param expected What the service answers; others must answer the same.
 * @throws {Error} When the server answers something else.
 */
export async function rawCall(
  server: Server,
  question: Question,
  { token, expected }: { readonly token: string; readonly expected: object },
): Promise<RawCall> {
  const own = await ask(server, question, token);
  deepEqual(sameOf(own), sameOf(expected), `${server.name} answers ${question.key} differently`);
  const request = wire(server, { ...question, headers: withToken(question, token) });
  return { request, expected: JSON.stringify(payloadOf(own)) };
}

/** What an answer is about. */
const payloadOf = (answer: object): unknown => {
  const { tools, structuredContent } = answer as Readonly<Record<string, unknown>>;
  return tools ?? structuredContent ?? answer;
};

/** What must be the same everywhere: of a tool servers publish this and that beside its name. */
function sameOf(answer: object): unknown {
  const payload = payloadOf(answer);
  return Array.isArray(payload) ? payload.map(({ name }) => name) : payload;
}

/** Text of an HTTP request, as it is sent. */
export function wire(
  { baseUrl }: Pick<Server, "baseUrl">,
  question: Omit<Question, "key">,
): string {
  const { method, path, headers, body } = question;
  const all = {
    ...{ host: new URL(baseUrl).host, ...headers },
    ...(body !== "" && { "content-length": String(Buffer.byteLength(body)) }),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
}
