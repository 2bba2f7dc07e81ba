import type { ServerResponse } from "node:http";
import {
  type AuthInfo,
  type JSONRPCResponse,
  type McpServer,
  type ProtocolEra,
  ProtocolErrorCode,
} from "@modelcontextprotocol/server";
import type { Usual } from "./fast-request.ts";
import { MuxTransport } from "./mux-transport.ts";
import { jsonOf } from "./tool-result-json.ts";

/** What the fast path is made from. */
interface FastOptions {
  readonly newServer: (about: { readonly era: ProtocolEra }) => McpServer;
  /** Told what the SDK reports. */
  readonly onReport: (error: unknown) => void;
}

/** Writes an answer. */
type Write = (res: ServerResponse) => void;

/** @returns `undefined` when the request is for the SDK's handler after all. */
export type AnswerUsual = (usual: Usual, authInfo: AuthInfo) => Promise<Write> | undefined;

/**
 * Answers usual requests with servers that live as long as the service. The SDK's own handler, which
 * knows the whole protocol, builds one for each request; that takes far longer than to answer.
 *
 * @returns Answers a request of a caller who may make it.
 */
export function createFastPath({ newServer, onReport }: FastOptions): AnswerUsual {
  const start = (era: ProtocolEra): MuxTransport => {
    const [server, transport] = [newServer({ era }), new MuxTransport(era)];
    server.server.onerror = onReport;
    server.connect(transport).catch(onReport);
    return transport;
  };
  const transports = { modern: start("modern"), legacy: start("legacy") };
  return ({ era, message }, authInfo) => {
    const answering = transports[era].dispatch(message, authInfo);
    return answering?.then((response) => (res) => writers[era](res, response));
  };
}

type WriteResponse = (res: ServerResponse, response: JSONRPCResponse) => void;

/** As the SDK's handler writes answers. Before 2026-07-28 each is an event. */
const writers: Readonly<Record<ProtocolEra, WriteResponse>> = {
  modern(res, response) {
    res.statusCode = statusOf(response);
    res.setHeader("Content-Type", "application/json");
    res.end(jsonOf(response));
  },
  legacy(res, response) {
    res.setHeader("Content-Type", "text/event-stream");
    res.setHeader("Cache-Control", "no-cache, no-transform");
    res.setHeader("X-Accel-Buffering", "no");
    res.end(`event: message\ndata: ${jsonOf(response)}\n\n`);
  },
};

/** One failure of a handler has a status of its own, as MCP 2026-07-28 demands. */
function statusOf(response: JSONRPCResponse): number {
  const code = "error" in response ? response.error.code : undefined;
  return code === ProtocolErrorCode.MissingRequiredClientCapability ? 400 : 200;
}
