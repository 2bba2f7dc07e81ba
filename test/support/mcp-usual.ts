import { globalAgent } from "node:http";
import { messageIn } from "./mcp-messages.ts";
import { sendRaw } from "./raw.ts";

/** Number of shared sockets; more of them would only compete for the same CPU. */
globalAgent.maxSockets = 256;

/**
 * How a call reaches a tool: with the client's revision (modern or legacy), or with a feature
 * (progress or a batch) that the fast path leaves to the SDK's handler.
 */
export const ways = ["modern", "legacy", "modern with progress", "batch"] as const;

/**
 * `_meta` with which a usual message reaches each of the two handlers: the fast path, or the SDK's
 * own handler, to which the fast path leaves every message that asks for progress.
 */
export const handlers = [
  { handler: "the fast path", meta: {} },
  { handler: "the SDK's handler", meta: { progressToken: 1 } },
] as const;

/** A tool call as a client sends it. */
export interface ToolCall {
  readonly way: (typeof ways)[number];
  readonly id: string | number;
  readonly method?: string;
  readonly params: { readonly name?: string; readonly uri?: string };
}

const MODERN = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

/**
 * Sends a call. @returns The status, the headers and the message, or the first message of a batch.
 */
export async function sendCall(base: string, token: string, call: ToolCall) {
  const { way, id, method = "tools/call", params } = call;
  const isModern = way.startsWith("modern");
  const progress = way === "modern with progress" && { progressToken: id };
  const meta = isModern && { _meta: { ...MODERN, ...progress } };
  const message = { jsonrpc: "2.0", id, method, params: { ...params, ...meta } };
  const name = params.name ?? params.uri;
  const { status, headers, body } = await sendRaw(`${base}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${token}`,
      "mcp-protocol-version": isModern ? "2026-07-28" : "2025-03-26",
      ...(isModern && { "mcp-method": method, ...(name && { "mcp-name": name }) }),
    },
    body: JSON.stringify(way === "batch" ? [message] : message),
  });
  return { status, headers, body, message: messageIn(body) };
}
