import { z } from "zod";
import { paths } from "../../lib/paths.ts";
import { LIMIT_HEADERS } from "../headers.ts";
import { jsonContent, type Operation } from "../operation.ts";
import { BODY_PROBLEMS, PROTECTED_PROBLEMS } from "../problems.ts";

/** Schema of a JSON-RPC 2.0 message. */
export const JsonRpcMessage = z.looseObject({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.string(), z.number()]).optional(),
  method: z.string().optional(),
  params: z.looseObject({}).optional(),
});

/** Schema of a JSON-RPC 2.0 error response. */
export const JsonRpcError = z.object({
  jsonrpc: z.literal("2.0"),
  id: z
    .union([z.string(), z.number(), z.null()])
    .describe("Id of the message; null if it could not be read."),
  error: z.object({ code: z.int(), message: z.string(), data: z.unknown().optional() }),
});

const ERROR_RESPONSE = {
  content: [jsonContent(JsonRpcError)],
  headers: LIMIT_HEADERS,
} as const;

const Headers = z.object({
  "MCP-Protocol-Version": z.string().optional().describe("Revision of the protocol."),
  "Mcp-Method": z.string().optional().describe("Since 2026-07-28: the method of the message."),
  "Mcp-Name": z
    .string()
    .optional()
    .describe("Since 2026-07-28: the tool, prompt or resource it names."),
});

/** The operations of the MCP endpoint; the server card describes the endpoint in detail. */
export const mcpOperations = [
  {
    id: "call_mcp",
    method: "post",
    path: paths.mcp,
    tag: "MCP",
    summary: "Send a message of the Model Context Protocol",
    description: `Streamable HTTP without sessions: one JSON-RPC message in each request. MCP clients send these requests themselves; the server card is at \`${paths.serverCard}\`. Each tool needs the scope that its REST operation needs, resources and prompts need signals:read. A tool that an agent must be claimed for first says so in its result, with the code \`claim_required\`.`,
    access: { scopes: [] },
    allowsAnyOrigin: true,
    header: Headers,
    body: jsonContent(JsonRpcMessage),
    answers: {
      200: {
        description:
          "The response, or a stream of messages. An error of a tool is a result with `isError`.",
        content: [
          { mediaType: "application/json", schema: JsonRpcMessage },
          { mediaType: "text/event-stream", schema: z.string() },
        ],
        headers: LIMIT_HEADERS,
      },
      202: {
        description: "The message was a notification, which has no response.",
        headers: LIMIT_HEADERS,
      },
      400: {
        description:
          "`-32600`: the message is invalid. `-32602`: it lacks members that its revision requires. `-32020`: the headers contradict it. `-32022`: the revision is not supported.",
        ...ERROR_RESPONSE,
      },
      404: {
        description: "`-32601`: there is no such method; before 2026-07-28 with 200.",
        ...ERROR_RESPONSE,
      },
      406: {
        description:
          "`-32000`: before 2026-07-28, `Accept` must include both application/json and text/event-stream.",
        ...ERROR_RESPONSE,
      },
    },
    problems: [...PROTECTED_PROBLEMS, ...BODY_PROBLEMS, "forbidden_origin"],
  },
] as const satisfies readonly Operation[];
