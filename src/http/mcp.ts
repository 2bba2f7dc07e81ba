import { AsyncLocalStorage } from "node:async_hooks";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler } from "@modelcontextprotocol/server";
import express, { type RequestHandler, type Response, Router } from "express";
import { calledFrom } from "../auth/auditor.ts";
import { isLoopbackHost } from "../auth/loopback.ts";
import { Problem } from "../problem.ts";
import { callerOf, type Gate } from "./gate.ts";
import { isDeeperThan } from "./json-body.ts";
import { signalsListenedTo } from "./mcp-resources.ts";
import { scopesOf } from "./mcp-scopes.ts";
import { authInfoOf, createServerFactory, type McpServerOptions } from "./mcp-server.ts";
import { onlyMethods } from "./methods.ts";
import type { Streams } from "./streams.ts";

/** Largest MCP message in bytes; tool inputs are far smaller. */
const MAX_MESSAGE_BYTES = 100 * 1024;
/** Deepest nesting of a message; the protocol's own envelope needs about six. */
const MAX_MESSAGE_DEPTH = 32;
/** Most messages in a batch, which protocol 2025-03-26 allows: each may ask for a full page. */
const MAX_BATCH = 10;

/** What the MCP endpoint is made from. */
export interface McpOptions extends McpServerOptions {
  readonly gate: Gate;
  /** Answers that stay open. */
  readonly streams: Streams;
  /** Listens for signals that have changed. @returns Stops listening. */
  readonly onSignal: (listener: (symbol: string) => void) => () => void;
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
  const factory = createServerFactory(options);
  const newHandler = () => createMcpHandler(factory, { onerror });
  const common = newHandler();
  return (req, res, next) => {
    const reported: unknown[] = [];
    res.once("finish", () => {
      if (res.statusCode >= 500) reported.forEach(onError);
    });
    const handler = isListening(req.body) ? newHandler() : common;
    if (handler !== common) stayOpen(res, { handler, message: req.body }, options);
    const asked = Object.assign(req, { auth: authInfoOf(callerOf(res)) });
    const handle = toNodeHandler(handler, { onerror });
    const answer = () => handle(asked, res, req.body).catch(next);
    reports.run(reported, () => calledFrom(req.ip, answer));
  };
}

/** A message that asks to be told of changes, and what the SDK answers it with. */
interface Listening {
  /** For this answer alone, so that it can be ended in good order when the others go on. */
  readonly handler: ReturnType<typeof createMcpHandler>;
  readonly message: unknown;
}

/** Lets an answer stay open, and tells it of the signals that the message names. */
function stayOpen(res: Response, { handler, message }: Listening, options: McpOptions): void {
  const { context, streams, onSignal } = options;
  const wanted = signalsListenedTo(message, context);
  if (res.destroyed) return;
  streams.hold(res, () => void handler.close());
  const stopListening = onSignal((symbol) =>
    wanted.get(symbol)?.forEach(handler.notify.resourceUpdated),
  );
  res.once("close", stopListening);
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

/** Whether a message asks for an answer that stays open (MCP 2026-07-28, subscriptions). */
const isListening = (body: { readonly method?: unknown } | null | undefined): boolean =>
  body?.method === "subscriptions/listen";
