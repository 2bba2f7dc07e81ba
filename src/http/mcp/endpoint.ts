import { AsyncLocalStorage } from "node:async_hooks";
import type { RequestListener } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler } from "@modelcontextprotocol/server";
import { type RequestHandler, type Response, Router } from "express";
import { calledFrom } from "../../auth/auditor.ts";
import { isLoopbackHost } from "../../lib/loopback.ts";
import { Problem } from "../../problem.ts";
import { withinTraceOf } from "../../telemetry/traces.ts";
import { callerOf, type Gate } from "../authorize.ts";
import type { Streams } from "../open-streams.ts";
import { createFastLane, MCP_PATH } from "./fast-lane.ts";
import { type AnswerUsual, createFastPath } from "./fast-path.ts";
import { acceptsBoth, BOTH_FORMS, usualRequest } from "./fast-request.ts";
import { readMessage, requireModest } from "./message-body.ts";
import { scopesOf } from "./required-scopes.ts";
import { signalsListenedTo } from "./resources.ts";
import {
  authInfoOf,
  createServerFactory,
  type McpServerOptions,
  ownNames,
} from "./server-factory.ts";

/** What the MCP endpoint is made from. */
export interface McpOptions extends McpServerOptions {
  readonly gate: Gate;
  /** Answers that stay open. */
  readonly streams: Streams;
  /** Listens for signals that have changed. @returns Stops listening. */
  readonly onSignal: (listener: (symbol: string) => void) => () => void;
  /** Told what the SDK reports, mostly why it refused a message; for debugging. */
  readonly onReport: (error: unknown) => void;
  /** Whether usual requests are answered without the SDK's own handler, which is slow. */
  readonly mcpFastPath: boolean;
}

type NewServer = ReturnType<typeof createServerFactory>;

/** The MCP endpoint: every protocol revision from 2024-11-05 to 2026-07-28, without sessions. */
export interface Mcp {
  readonly router: Router;
  /** Answers what it can before Express does; all else goes on to it. */
  before(express: RequestListener): RequestListener;
}

/** Makes the MCP endpoint, with two servers that stay for usual messages unless that is turned off. */
export function createMcp(options: McpOptions): Mcp {
  const { gate, onReport } = options;
  const newServer = createServerFactory(options);
  const bySdk = serve(newServer, options);
  if (!options.mcpFastPath) {
    return {
      router: routerWith(options, { enter: gate.enter, bySdk }),
      before: (express) => express,
    };
  }
  const answerUsual = createFastPath({ newServer, onReport });
  const { before, enter } = createFastLane({ gate, answer: answerUsual });
  return { router: routerWith(options, { enter, answerUsual, bySdk }), before };
}

/** What lets callers in, and what answers them. */
interface Steps {
  readonly enter: RequestHandler;
  readonly answerUsual?: AnswerUsual;
  readonly bySdk: RequestHandler;
}

function routerWith({ gate, baseUrl }: McpOptions, { enter, answerUsual, bySdk }: Steps): Router {
  const answer: RequestHandler = async (req, res, next) => {
    // The SDK takes nothing but both names.
    if (acceptsBoth(req.headers)) req.headers.accept = BOTH_FORMS;
    requireModest(req.body);
    const caller = callerOf(res);
    if (Array.isArray(req.body)) await gate.countFurther(res, caller, req.body.length - 1);
    gate.requireScopes(caller, scopesOf(req.body));
    withinTraceOf(req.body, () => {
      const usual = answerUsual && usualRequest(req, ownNames);
      const answering = usual && calledFrom(req.ip, () => answerUsual(usual, authInfoOf(caller)));
      if (answering === undefined) return bySdk(req, res, next);
      answering.then((write) => write(res)).catch(next);
    });
  };
  const router = Router();
  router
    .route(MCP_PATH)
    .post(onlyOrigin(baseUrl), enter, readMessage, gate.stillIn, answer)
    .all((req) => {
      throw new Problem("method_not_allowed", {
        detail: `${req.method} is not possible here: this is the MCP endpoint, for programs.`,
        next: `Send messages by POST; ${baseUrl}/#connect says how a client is connected.`,
        headers: { Allow: "POST" },
      });
    });
  return router;
}

/** Hands messages to the SDK, which reports refusals and failures alike: the status tells. */
function serve(newServer: NewServer, options: McpOptions): RequestHandler {
  const { onError, onReport } = options;
  const reports = new AsyncLocalStorage<unknown[]>();
  const onerror = (error: unknown) => {
    reports.getStore()?.push(error);
    onReport(error);
  };
  const newHandler = () => createMcpHandler(newServer, { onerror });
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
 * A browser names the page that calls. While the service is on this machine, only pages from this
 * machine may call it: a name of a stranger could lead here (DNS rebinding, MCP 2026-07-28). Elsewhere
 * any page may, since no cookie counts.
 */
function onlyOrigin(baseUrl: string): RequestHandler {
  const isLocal = isLoopbackHost(new URL(baseUrl).hostname);
  const isFromHere = (origin: string) => isLoopbackHost(URL.parse(origin)?.hostname ?? "");
  return (req, _res, next) => {
    const { origin } = req.headers;
    if (!isLocal || origin === undefined || isFromHere(origin)) return next();
    throw new Problem("forbidden_origin", {
      detail:
        "While the service is on this machine, its MCP endpoint is open to pages from here alone.",
      next: "Call it from a program, or from a page of this service.",
    });
  };
}

/** Whether a message asks for an answer that stays open (MCP 2026-07-28, subscriptions). */
const isListening = (body: { readonly method?: unknown } | null | undefined): boolean =>
  body?.method === "subscriptions/listen";
