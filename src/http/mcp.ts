import { toNodeHandler } from "@modelcontextprotocol/node";
import {
  type CallToolResult,
  createMcpHandler,
  McpServer,
  type StandardSchemaWithJSON,
} from "@modelcontextprotocol/server";
import express, { type RequestHandler, Router } from "express";
import { z } from "zod";
import { tools } from "../../tools/index.ts";
import type { Scope } from "../auth/scopes.ts";
import { Problem } from "../problem.ts";
import type { Tool, ToolContext } from "../tool.ts";
import { callerOf, type Gate } from "./gate.ts";
import { jsonSchema } from "./json-schema.ts";
import { onlyMethods } from "./methods.ts";
import { parse } from "./parse.ts";

/** Largest MCP message in bytes; tool inputs are far smaller. */
const MAX_MESSAGE_BYTES = 100 * 1024;
/** How long clients may keep the lists, which change with the version only. */
const LIST_TTL_MS = 300_000;
const DISCOVER_TTL_MS = 3_600_000;

const INSTRUCTIONS =
  "Scores run from 0 (bearish) over 50 (no view) to 100 (bullish); signals are LONG, SHORT or WAIT. Start with get_signal; get_factors gives the reasons, get_darkpool the off-exchange trades, find_instruments the symbols. Read status, asOf and missingFactors before you rely on an answer; market sandbox means simulated data. A score is a percentile of evidence, not a probability, and not investment advice.";

/** What the MCP endpoint is made from. */
export interface McpOptions {
  readonly context: ToolContext;
  readonly gate: Gate;
  readonly name: string;
  readonly version: string;
  /** Public origin, without a trailing slash. */
  readonly baseUrl: string;
  /** Told about every failure that is not the caller's. */
  readonly onError: (error: unknown) => void;
  /** Told why the SDK refused a message, for debugging. */
  readonly onRefusal: (error: unknown) => void;
}

/** The MCP endpoint: every protocol revision from 2024-11-05 to 2026-07-28, without sessions. */
export function mcpRouter(options: McpOptions): Router {
  const { gate, baseUrl, onError, onRefusal } = options;
  const handle = toNodeHandler(
    createMcpHandler(() => buildServer(options), { onerror: onRefusal }),
    { onerror: onError },
  );
  const router = Router();
  router
    .route("/mcp")
    .post(
      onlyOrigin(baseUrl),
      gate.enter,
      onlyJson,
      express.json({ limit: MAX_MESSAGE_BYTES }),
      (req, res, next) => {
        gate.requireScopes(callerOf(res), scopesOf(req.body));
        handle(req, res, req.body).catch(next);
      },
    )
    .all(onlyMethods(["post"]));
  return router;
}

/** Names of the machine itself, as browsers write them in an origin. */
const LOOPBACK_HOSTS: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Browsers name the page that calls. Only pages of this service may and, while it is served on
 * this machine, local tools in a browser (DNS rebinding, MCP 2026-07-28).
 */
function onlyOrigin(baseUrl: string): RequestHandler {
  const isLocal = LOOPBACK_HOSTS.includes(new URL(baseUrl).hostname);
  const isLoopback = (origin: string) => LOOPBACK_HOSTS.includes(URL.parse(origin)?.hostname ?? "");
  return (req, _res, next) => {
    const { origin } = req.headers;
    if (origin === undefined || origin === baseUrl) return next();
    if (isLocal && isLoopback(origin)) return next();
    throw new Problem("forbidden_origin", {
      detail: "The MCP endpoint is not open to other web pages.",
      next: "Call it from a program, or from a page of this service.",
    });
  };
}

const onlyJson: RequestHandler = (req, _res, next) => {
  if (req.is("application/json")) return next();
  throw new Problem("unsupported_media_type", { detail: "The body must be application/json." });
};

/** The scopes that the tool calls in a message, or in a batch of them, need together. */
function scopesOf(body: unknown): readonly Scope[] {
  const messages: readonly unknown[] = Array.isArray(body) ? body : [body];
  const called = messages.map((message) => ToolCall.safeParse(message).data?.params.name);
  return [...new Set(tools.filter(({ name }) => called.includes(name)).map(({ scope }) => scope))];
}

const ToolCall = z.object({
  method: z.literal("tools/call"),
  params: z.object({ name: z.string() }),
});

function buildServer({ context, name, version, onError }: McpOptions): McpServer {
  const list = { ttlMs: LIST_TTL_MS, cacheScope: "public" } as const;
  const server = new McpServer(
    { name: "market-signal", title: name, version },
    {
      instructions: INSTRUCTIONS,
      cacheHints: {
        "tools/list": list,
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
  { context, onError }: Pick<McpOptions, "context" | "onError">,
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
