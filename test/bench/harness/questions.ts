import { deepEqual } from "node:assert/strict";
import type { RawCall } from "../load.ts";
import type { Server } from "./server.ts";

/** Sandbox instruments that callers ask about, one after the other. */
const SYMBOLS = ["ALDER.SIM", "BYTEN.SIM", "DRIMO-USD.SIM", "GLIMO.SIM", "QUILM.SIM", "VERLA.SIM"];

/**
 * The compared MCP revisions: the modern one has an envelope in each message, the legacy one has
 * none.
 */
const ERAS = { modern: "2026-07-28", legacy: "2025-11-25" } as const;
export type Era = keyof typeof ERAS;

/** A request of a caller. */
export interface Question {
  /** Unique key of the question. */
  readonly key: string;
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A GET request to the REST API. */
export const restQuestion = (path: string): Question => ({
  ...{ key: path, method: "GET", path, headers: { accept: "application/json" }, body: "" },
});

/** REST requests for the signal of each symbol. */
export const restSignals = (): readonly Question[] =>
  SYMBOLS.map((symbol) => restQuestion(`/api/signals?symbol=${symbol}`));

/** Key of the answer to an MCP message. */
export const keyOf = (version: string, method: string, symbol = ""): string =>
  `${version} ${method} ${symbol}`;

/** Metadata that an MCP client sends about itself in each message since revision 2026-07-28. */
const ENVELOPE = {
  "io.modelcontextprotocol/protocolVersion": ERAS.modern,
  "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1.0.0" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** MCP calls of get_signal, one for each symbol. */
export const callsOfGetSignal = (era: Era): readonly Question[] =>
  SYMBOLS.map((symbol) =>
    message(era, "tools/call", { name: "get_signal", arguments: { symbol } }),
  );

/** The MCP request for the tool list. */
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

/** Asks a server. @returns The result of an MCP message, or the body of a REST answer. */
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
 * Prepares a question as a raw HTTP request, with text that only the right answer contains.
 *
 * @param expected The service's answer; other servers must give the same answer.
 * @throws {Error} When the server gives a different answer.
 */
export async function rawCall(
  server: Server,
  question: Question,
  { token, expected }: { readonly token: string; readonly expected: object },
): Promise<RawCall> {
  const own = await ask(server, question, token);
  deepEqual(sameOf(own), sameOf(expected), `${server.name} answers ${question.key} differently`);
  const request = rawRequestText(server, { ...question, headers: withToken(question, token) });
  return { request, expected: JSON.stringify(payloadOf(own)) };
}

/** The payload of an answer: the tool list, the structured content, or the whole REST answer. */
const payloadOf = (answer: object): unknown => {
  const { tools, structuredContent } = answer as Readonly<Record<string, unknown>>;
  return tools ?? structuredContent ?? answer;
};

/**
 * The part of an answer that must be equal on all servers. Of each tool in a tool list, this is
 * only the name, because servers publish different additional fields.
 */
function sameOf(answer: object): unknown {
  const payload = payloadOf(answer);
  return Array.isArray(payload) ? payload.map(({ name }) => name) : payload;
}

/** The text of an HTTP/1.1 request, ready to be sent. */
export function rawRequestText(
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
