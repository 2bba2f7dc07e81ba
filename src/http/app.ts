import type { RequestListener, ServerResponse } from "node:http";
import express, { type Express, type Router } from "express";
import type { Logger } from "pino";
import type { EventLog } from "../alerts/api/event-log.ts";
import type { Authenticate } from "../auth/caller.ts";
import type { Scope } from "../auth/scopes.ts";
import type { Repeat } from "../lib/loop.ts";
import type { Limits } from "../limits/limits.ts";
import type { PeerTables } from "../score/peers.ts";
import type { Meters } from "../telemetry/meters.ts";
import type { ToolContext } from "../tool.ts";
import { alertStreamRoute } from "./api/alert-stream.ts";
import { createAnswers, measuredAnswers } from "./api/answers.ts";
import { healthRoute, probeRoutes, type Readiness } from "./api/health.ts";
import { restRoutes } from "./api/rest.ts";
import { methodRoute } from "./api/scoring-method.ts";
import { ProtectedResource } from "./authorize.ts";
import { applyCors } from "./cors.ts";
import { discoveryRouter } from "./discovery/documents.ts";
import { descriptionLinks } from "./discovery/link-headers.ts";
import { apiDocsRouter } from "./docs/api-reference.ts";
import {
  createErrorWriter,
  errorHandler,
  notFound,
  SECURITY_HEADERS,
  sendProblem,
  type WriteError,
} from "./errors.ts";
import { announced } from "./mcp/announced.ts";
import { mcpRoute } from "./mcp/route.ts";
import type { McpAddition } from "./mcp/server-factory.ts";
import type { Streams } from "./open-streams.ts";
import { createShowPage } from "./pages/answer.ts";
import { createShowErrorPage } from "./pages/error.ts";
import { type HomeOptions, homeRouter } from "./pages/home/home-routes.ts";
import { styleAddress } from "./pages/style-route.ts";
import { countVisit } from "./rate-limits.ts";
import { contextOf, type RequestContext } from "./request-context.ts";
import { observed } from "./request-telemetry.ts";
import { type Route, RouteTable } from "./route-table.ts";
import { routesOf, type ServedRoute } from "./served-routes.ts";
import { faultOf } from "./server.ts";
/** What the HTTP surface is made from. */
export interface AppOptions {
  readonly name: string;
  readonly version: string;
  /** Public origin, without a trailing slash; the only source of addresses in answers. */
  readonly baseUrl: string;
  readonly context: ToolContext;
  /** What scores were compared with; see `MethodOptions`. */
  readonly tables: () => readonly PeerTables[];
  /** The events of alerts. */
  readonly eventLog: EventLog;
  /** Answers that stay open. */
  readonly streams: Streams;
  readonly repeat: Repeat;
  /** Listens for signals that have changed. @returns Stops listening. */
  readonly onSignal: (listener: (symbol: string) => void) => () => void;
  readonly authenticate: Authenticate;
  /** Who is at a browser. */
  readonly sessions: HomeOptions["sessions"];
  readonly accounts: HomeOptions["accounts"];
  readonly limits: Limits;
  readonly anonymousScopes: readonly Scope[];
  /** Reverse proxies whose word on the caller's address counts. */
  readonly proxyHops: number;
  /** Routers of Express with paths of their own; they read bodies themselves and so come first. */
  readonly routers: readonly Router[];
  readonly tokenRoute: Route;
  /** Whether usual MCP requests are answered without the SDK's own handler, which is slow. */
  readonly mcpFastPath: boolean;
  /** Only a test sets it. */
  readonly mcpAddition?: McpAddition | undefined;
  readonly readiness: Readiness;
  readonly now: () => Date;
  readonly log: Logger;
  readonly meters: Pick<Meters, "request" | "toolCall">;
  /** Told about every failure that is not the caller's. */
  readonly onError: (error: unknown) => void;
  /** Told what the MCP SDK reports, mostly why it refused a message; for debugging. */
  readonly onReport: (error: unknown) => void;
}

/** A year of https alone (RFC 6797), for this host: those below it may belong to others. */
const HSTS = "max-age=31536000";

/** The HTTP surface. */
export interface App {
  readonly handle: RequestListener;
  /** Everything that it serves. */
  readonly routes: readonly ServedRoute[];
}

/**
 * Builds the application: the table of routes for programs, and Express behind it for pages, OAuth
 * pages and documents. A request of a form that nobody sends by mistake reaches neither.
 */
export function createApp(options: AppOptions): App {
  const { name, baseUrl, now, onError } = options;
  const showErrorPage = createShowErrorPage(createShowPage({ name, stylePath: styleAddress }), now);
  const writeError = createErrorWriter(onError, showErrorPage);
  const table = new RouteTable(programRoutes(options), writeError);
  const express = createExpress(options, writeError);
  const isSecure = baseUrl.startsWith("https:");
  const linkOf = descriptionLinks(baseUrl);
  const handle = (context: RequestContext): void => {
    const { req, res, path } = context;
    if (isSecure) res.setHeader("strict-transport-security", HSTS);
    const problem = faultOf(req);
    if (problem !== undefined) {
      sendProblem(res, problem);
      return;
    }
    secure(res);
    if (applyCors(context)) return;
    const link = linkOf(path);
    if (link !== undefined) res.setHeader("link", link);
    if (!table.handle(context)) express(req, res);
  };
  return {
    routes: [...table.routes, ...routesOf(express)],
    handle: observed(handle, options),
  };
}

/** Sets the security headers. One by one: V8 is slow at names that come from a list. */
function secure(res: ServerResponse): void {
  res.setHeader("x-content-type-options", SECURITY_HEADERS["x-content-type-options"]);
  res.setHeader("content-security-policy", SECURITY_HEADERS["content-security-policy"]);
  res.setHeader("referrer-policy", SECURITY_HEADERS["referrer-policy"]);
  res.setHeader("cache-control", SECURITY_HEADERS["cache-control"]);
}

/** The routes that programs call: tools by REST and by MCP, tokens, and probes. */
function programRoutes(options: AppOptions): readonly Route[] {
  const { context, name, version, now, readiness, streams, repeat } = options;
  const answers = measuredAnswers(createAnswers(context), options.meters);
  const api = new ProtectedResource(options, "");
  return [
    mcpRoute({ ...options, answers, mcp: new ProtectedResource(options, "/mcp") }),
    options.tokenRoute,
    ...restRoutes(answers, api),
    alertStreamRoute({ api, log: options.eventLog, streams, repeat }),
    methodRoute({ context, api, tables: options.tables }),
    healthRoute({ context, name, version, now, readiness }),
    ...probeRoutes(readiness),
  ];
}

function createExpress(options: AppOptions, writeError: WriteError): Express {
  const { name, version, baseUrl, context, routers, now, limits, anonymousScopes } = options;
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.set("trust proxy", options.proxyHops);
  // Everything here is open to everyone.
  app.use(async (_req, res, next) => {
    await countVisit(limits, contextOf(res));
    next();
  });
  for (const router of routers) app.use(router);
  const { mode: market } = context.market;
  const site = { baseUrl, name, version, anonymousScopes, market, mcp: announced };
  app.use(discoveryRouter(site, now));
  app.use(apiDocsRouter(site));
  app.use(homeRouter({ ...options, site }));
  app.use(notFound);
  app.use(errorHandler(writeError));
  return app;
}
