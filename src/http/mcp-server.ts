import {
  type CallToolResult,
  McpServer,
  type StandardSchemaWithJSON,
} from "@modelcontextprotocol/server";
import { tools } from "../../tools/index.ts";
import { Problem } from "../problem.ts";
import type { Tool, ToolContext } from "../tool.ts";
import { jsonSchema } from "./json-schema.ts";
import { parse } from "./parse.ts";

/** How long clients may keep the lists, which change with the version only. */
const LIST_TTL_MS = 300_000;
const DISCOVER_TTL_MS = 3_600_000;

const INSTRUCTIONS =
  "Scores run from 0 (bearish) over 50 (no view) to 100 (bullish); signals are LONG, SHORT or WAIT. Start with get_signal; get_factors gives the reasons, get_darkpool the off-exchange trades, find_instruments the symbols. Read status, asOf and missingFactors before you rely on an answer; market sandbox means simulated data. A score is a percentile of evidence, not a probability, and not investment advice.";

/** What an MCP server is made from. */
export interface McpServerOptions {
  readonly context: ToolContext;
  readonly name: string;
  readonly version: string;
  /** Told about every failure that is not the caller's. */
  readonly onError: (error: unknown) => void;
}

/** Offers every tool over MCP. */
export function buildServer({ context, name, version, onError }: McpServerOptions): McpServer {
  const server = new McpServer(
    { name: "market-signal", title: name, version },
    {
      instructions: INSTRUCTIONS,
      capabilities: { tools: { listChanged: false } },
      cacheHints: {
        "tools/list": { ttlMs: LIST_TTL_MS, cacheScope: "public" },
        "server/discover": { ttlMs: DISCOVER_TTL_MS, cacheScope: "public" },
      },
    },
  );
  for (const { tool, inputSchema, outputSchema } of published) {
    const { title, description } = tool;
    const annotations = {
      title,
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: false,
    };
    server.registerTool(
      tool.name,
      { title, description, inputSchema, outputSchema, annotations },
      (input) => call(tool, input, { context, onError }),
    );
  }
  return server;
}

/** The tools with their JSON Schemas, made once. */
const published = tools.map((tool) => ({
  tool,
  inputSchema: schema(jsonSchema(tool.input, "input")),
  outputSchema: schema({ type: "object", ...jsonSchema(tool.output, "output") }),
}));

/** Publishes a JSON Schema and checks nothing: `call` does, and words the refusal as REST does. */
function schema(json: Record<string, unknown>): StandardSchemaWithJSON<object, object> {
  return {
    "~standard": {
      version: 1,
      vendor: "market-signal",
      validate: (value) => ({ value: value as object }),
      jsonSchema: { input: () => json, output: () => json },
    },
  };
}

/** The SDK would send any thrown message to the model; only a Problem is written for it. */
function call(
  tool: Tool,
  input: unknown,
  { context, onError }: Pick<McpServerOptions, "context" | "onError">,
): CallToolResult {
  try {
    const structuredContent = tool.run(parse(tool.input, input ?? {}), context);
    return {
      structuredContent,
      content: [{ type: "text", text: JSON.stringify(structuredContent) }],
    };
  } catch (error) {
    if (!(error instanceof Problem)) onError(error);
    const text = error instanceof Problem ? error.message : "internal_error: The call failed.";
    return { isError: true, content: [{ type: "text", text }] };
  }
}
