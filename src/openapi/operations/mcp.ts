import { z } from "zod";
import { paths } from "../../../wellknown/paths.ts";
import { LIMIT_HEADERS } from "../headers.ts";
import type { Operation } from "../operation.ts";
import { BODY_PROBLEMS, GATED_PROBLEMS } from "../problems.ts";
import { credentialWith } from "../security.ts";

/** A message of JSON-RPC 2.0. */
export const JsonRpcMessage = z.looseObject({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.string(), z.number()]).optional(),
  method: z.string().optional(),
  params: z.looseObject({}).optional(),
});

const Headers = z.object({
  "MCP-Protocol-Version": z.string().optional().describe("Revision of the protocol."),
  "Mcp-Method": z.string().optional().describe("Since 2026-07-28: the method of the message."),
  "Mcp-Name": z
    .string()
    .optional()
    .describe("Since 2026-07-28: the tool, prompt or resource it names."),
});

/** The MCP endpoint, of which the server card says more. */
export const mcpOperations: readonly Operation[] = [
  {
    id: "call_mcp",
    method: "post",
    path: paths.mcp,
    tag: "MCP",
    summary: "Speak the Model Context Protocol",
    description: `Streamable HTTP without sessions: one JSON-RPC message in each request. Clients of the protocol do this by themselves; the server card is at \`${paths.serverCard}\`. Each tool needs the scope that its REST operation needs, resources and prompts need signals:read.`,
    security: credentialWith(),
    header: Headers,
    body: { mediaType: "application/json", schema: JsonRpcMessage },
    answers: {
      200: {
        description: "The answer, or a stream of messages.",
        content: [
          { mediaType: "application/json", schema: JsonRpcMessage },
          { mediaType: "text/event-stream", schema: z.string() },
        ],
        headers: LIMIT_HEADERS,
      },
      202: { description: "The message wants no answer.", headers: LIMIT_HEADERS },
    },
    problems: [...GATED_PROBLEMS, ...BODY_PROBLEMS, "forbidden_origin"],
  },
];
