import { postJson } from "./agent.ts";
import { bearer } from "./alert-events.ts";
import { postMcp } from "./matrix-routes.ts";

/** Sends an MCP message. @param by Token to use instead of the default token. */
type AskMcp = (method: string, params?: object, by?: string) => Promise<Response>;

/**
 * Creates functions that send MCP messages as clients of two revisions; the client of the older
 * revision has no session.
 */
export function mcpAsks(base: string, token: string) {
  const askNew: AskMcp = (method, params = {}, by = token) =>
    postMcp(base, { method, params }, { headers: bearer(by) });
  const askOld: AskMcp = (method, params = {}, by = token) =>
    postJson(
      `${base}/mcp`,
      { jsonrpc: "2.0", id: 1, method, params },
      {
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2025-11-25",
        ...bearer(by),
      },
    );
  const eras = [
    { era: "2026-07-28", ask: askNew },
    { era: "2025-11-25", ask: askOld },
  ] as const;
  return { askNew, askOld, eras };
}

/** A JSON-RPC message in an answer. */
interface Answer {
  readonly id?: string | number | null;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: {
    readonly code: number;
    readonly message: string;
    readonly data?: { readonly uri: string };
  };
}

/** Reads the message in an answer, as JSON or as a server-sent event. */
export async function messageOf(sent: Promise<Response>): Promise<Answer> {
  return messageIn(await (await sent).text());
}

/** Parses a message from JSON or from a server-sent event. */
export function messageIn(text: string): Answer {
  const [, data = text] = /^data: (.*)$/m.exec(text) ?? [];
  return JSON.parse(data) as Answer;
}

/** Reads the result of a message. @throws {Error} When the message is an error. */
export async function resultOf<T>(sent: Promise<Response>): Promise<T> {
  const { result, error } = await messageOf(sent);
  if (result === undefined) throw new Error(`refused: ${JSON.stringify(error)}`);
  return result as T;
}
