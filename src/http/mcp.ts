import { AsyncLocalStorage } from "node:async_hooks";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler } from "@modelcontextprotocol/server";
import express, { type RequestHandler, Router } from "express";
import { z } from "zod";
import { tools } from "../../tools/index.ts";
import { isLoopbackHost } from "../auth/loopback.ts";
import type { Scope } from "../auth/scopes.ts";
import { Problem } from "../problem.ts";
import { callerOf, type Gate } from "./gate.ts";
import { buildServer, type McpServerOptions } from "./mcp-server.ts";
import { onlyMethods } from "./methods.ts";

/** Largest MCP message in bytes; tool inputs are far smaller. */
const MAX_MESSAGE_BYTES = 100 * 1024;
/** Deepest nesting of a message; the protocol's own envelope needs about six. */
const MAX_MESSAGE_DEPTH = 32;
/** Most messages in a batch, which protocol 2025-03-26 allows: each may ask for a full page. */
const MAX_BATCH = 10;

/** What the MCP endpoint is made from. */
export interface McpOptions extends McpServerOptions {
  readonly gate: Gate;
  /** Public origin, without a trailing slash. */
  readonly baseUrl: string;
  /** Told what the SDK reports, mostly why it refused a message; for debugging. */
  readonly onReport: (error: unknown) => void;
}

/** The MCP endpoint: every protocol revision from 2024-11-05 to 2026-07-28, without sessions. */
export function mcpRouter(options: McpOptions): Router {
  const { gate, baseUrl } = options;
  const router = Router();
  router
    .route("/mcp")
    .post(
      onlyOrigin(baseUrl),
      gate.enter,
      onlyJson,
      express.json({ limit: MAX_MESSAGE_BYTES, strict: false }),
      onlyModest,
      (req, res, next) => {
        gate.requireScopes(callerOf(res), scopesOf(req.body));
        next();
      },
      serve(options),
    )
    .all(onlyMethods(["post"]));
  return router;
}

/** Hands messages to the SDK, which reports refusals and failures alike: the status tells. */
function serve(options: McpOptions): RequestHandler {
  const { onError, onReport } = options;
  const reports = new AsyncLocalStorage<unknown[]>();
  const onerror = (error: unknown) => {
    reports.getStore()?.push(error);
    onReport(error);
  };
  const handle = toNodeHandler(
    createMcpHandler(() => buildServer(options), { onerror }),
    {
      onerror,
    },
  );
  return (req, res, next) => {
    const reported: unknown[] = [];
    res.once("finish", () => {
      if (res.statusCode >= 500) reported.forEach(onError);
    });
    reports.run(reported, () => handle(req, res, req.body).catch(next));
  };
}

/**
 * A browser names the page that calls. Pages of this service may and, while the service is on this
 * machine, pages from this machine (DNS rebinding, MCP 2026-07-28); no other page.
 */
function onlyOrigin(baseUrl: string): RequestHandler {
  const isLocal = isLoopbackHost(new URL(baseUrl).hostname);
  const isFromHere = (origin: string) => isLoopbackHost(URL.parse(origin)?.hostname ?? "");
  return (req, _res, next) => {
    const { origin } = req.headers;
    if (origin === undefined || origin === baseUrl) return next();
    if (isLocal && isFromHere(origin)) return next();
    throw new Problem("forbidden_origin", {
      detail: "The MCP endpoint is not open to other web pages.",
      next: "Call it from a program, or from a page of this service.",
    });
  };
}

const onlyJson: RequestHandler = (req, _res, next) => {
  if (req.is("application/json")) return next();
  throw new Problem("unsupported_media_type", {
    detail: "The body must be application/json.",
    next: "Send one JSON-RPC message with that content type.",
  });
};

/** Bounds what a small body can still ask for. */
const onlyModest: RequestHandler = (req, _res, next) => {
  if (Array.isArray(req.body) && req.body.length > MAX_BATCH) {
    throw new Problem("invalid_request", {
      detail: `A batch has at most ${MAX_BATCH} messages.`,
      next: "Send several batches.",
    });
  }
  if (isDeeperThan(MAX_MESSAGE_DEPTH, req.body)) {
    throw new Problem("invalid_request", {
      detail: `A message nests at most ${MAX_MESSAGE_DEPTH} levels deep.`,
    });
  }
  next();
};

function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeperThan(levels - 1, member));
}

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
