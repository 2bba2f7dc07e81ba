import type { RequestListener, ServerResponse } from "node:http";
import express, { type Express, type Router } from "express";
import type { Logger } from "pino";
import type { Authenticate } from "../access/caller.ts";
import type { Scope } from "../access/scopes.ts";
import type { EventLog } from "../alerts/api/event-log.ts";
import type { StartLoop } from "../lib/loop.ts";
import type { Limits } from "../limits/limits.ts";
import type { SignalLog } from "../log/signal-log.ts";
import type { ClaimService } from "../principals/agents/claims.ts";
import type { PeerTables } from "../score/peers.ts";
import type { Meters } from "../telemetry/meters.ts";
import type { Readiness } from "../telemetry/readiness.ts";
import type { ToolContext } from "../tool/tool.ts";
import { alertStreamRoute } from "./api/alert-stream.ts";
import { createToolAnswers, measuredToolAnswers } from "./api/answers.ts";
import { exportRoute } from "./api/export.ts";
import { healthRoute, probeRoutes } from "./api/health.ts";
import { openbbRoute } from "./api/openbb.ts";
import { restRoutes } from "./api/rest.ts";
import { methodRoute } from "./api/scoring-method.ts";
import { logRoutes } from "./api/signal-log.ts";
import { applyCors } from "./cors.ts";
import { discoveryRouter } from "./discovery/discovery-routes.ts";
import { createLinkHeaders } from "./discovery/link-headers.ts";
import { apiDocsRouter } from "./docs/api-reference.ts";
import {
  createErrorWriter,
  errorHandler,
  notFoundHandler,
  SECURITY_HEADERS,
  sendProblem,
  type WriteError,
} from "./errors.ts";
import { mcpProtocol } from "./mcp/protocol.ts";
import { mcpRoute } from "./mcp/route.ts";
import type { McpExtension } from "./mcp/server-factory.ts";
import type { OpenStreams } from "./open-streams.ts";
import { createAdmission } from "./operation-routes.ts";
import { createErrorPageSender } from "./pages/error.ts";
import { type HomeOptions, homeRouter } from "./pages/home/home-routes.ts";
import { createPageSender } from "./pages/page-answer.ts";
import { styleHref } from "./pages/style-route.ts";
import { ProtectedResource } from "./protected-resource.ts";
import { countPublicRequest } from "./rate-limits.ts";
import { contextOf, type RequestContext } from "./request-context.ts";
import { withTelemetry } from "./request-telemetry.ts";
import { type Route, RouteTable } from "./route-table.ts";
import { routesOf, type ServedRoute } from "./served-routes.ts";
import { malformedRequestProblem } from "./server.ts";
/** Dependencies of the HTTP application. */
export interface AppOptions {
  readonly name: string;
  readonly version: string;
  /** Public origin, without a trailing slash; the base of all URLs in responses. */
  readonly baseUrl: string;
  readonly context: ToolContext;
  /** Peer tables of the scores; see `MethodRouteOptions`. */
  readonly tables: () => readonly PeerTables[];
  /** Log of alert events. */
  readonly eventLog: EventLog;
  /** Registry of open streaming responses. */
  readonly streams: OpenStreams;
  readonly repeat: StartLoop;
  /** Registers a listener for signal changes. @returns A function that removes it. */
  readonly onSignal: (listener: (symbol: string) => void) => () => void;
  readonly authenticate: Authenticate;
  /** Claims, by which a person becomes the owner of an agent. */
  readonly claims: ClaimService;
  /** Browser sessions. */
  readonly sessions: HomeOptions["sessions"];
  readonly accounts: HomeOptions["accounts"];
  readonly limits: Limits;
  readonly anonymousScopes: readonly Scope[];
  /** Number of trusted reverse proxies that set the client address. */
  readonly proxyHops: number;
  /**
   * Express routers for additional paths. They are mounted before all other routers because they
   * read request bodies themselves.
   */
  readonly routers: readonly Router[];
  readonly tokenRoute: Route;
  /** Additional MCP features; set only by tests. */
  readonly mcpAddition?: McpExtension | undefined;
  readonly readiness: Readiness;
  /** The signal log of the market; `undefined` if the market has none. */
  readonly signalLog: SignalLog | undefined;
  readonly now: () => Date;
  readonly log: Logger;
  readonly meters: Meters;
  /** Called with every error that the caller did not cause. */
  readonly onError: (error: unknown) => void;
  /**
   * Called with the errors that the MCP SDK reports, for debugging. Most of them give the reason
   * why it rejected a message.
   */
  readonly onReport: (error: unknown) => void;
}

/**
 * Value of `Strict-Transport-Security` (RFC 6797): HTTPS only, for one year. Subdomains are
 * excluded because other operators may run them.
 */
const HSTS = "max-age=31536000";

/** The request handler of the application and the routes that it serves. */
export interface App {
  readonly handle: RequestListener;
  /** Every route that the application serves. */
  readonly routes: readonly ServedRoute[];
}

/**
 * Builds the application. The route table handles requests of programs; Express handles pages,
 * OAuth pages and documents. Malformed requests are rejected before routing.
 */
export function createApp(options: AppOptions): App {
  const { name, baseUrl, now, onError } = options;
  const sendErrorPage = createErrorPageSender(
    createPageSender({ name, stylePath: styleHref }),
    now,
  );
  const writeError = createErrorWriter(onError, sendErrorPage);
  const table = new RouteTable(programRoutes(options), writeError);
  const express = createExpress(options, writeError);
  const isSecure = baseUrl.startsWith("https:");
  const linkOf = createLinkHeaders(baseUrl);
  const handle = (context: RequestContext): void => {
    const { req, res, path } = context;
    if (isSecure) res.setHeader("strict-transport-security", HSTS);
    const problem = malformedRequestProblem(req);
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
    handle: withTelemetry(handle, options),
  };
}

/**
 * Sets the security headers one by one, because V8 is slower with header names read from a list.
 */
function secure(res: ServerResponse): void {
  res.setHeader("x-content-type-options", SECURITY_HEADERS["x-content-type-options"]);
  res.setHeader("content-security-policy", SECURITY_HEADERS["content-security-policy"]);
  res.setHeader("referrer-policy", SECURITY_HEADERS["referrer-policy"]);
  res.setHeader("cache-control", SECURITY_HEADERS["cache-control"]);
}

/** The routes that programs call: tools over REST and MCP, tokens, and health probes. */
function programRoutes(options: AppOptions): readonly Route[] {
  const { context, name, now, readiness, streams, repeat } = options;
  const answers = measuredToolAnswers(createToolAnswers(context), options.meters);
  const api = new ProtectedResource(options, "");
  const isSimulated = context.market.source.simulated;
  const admit = createAdmission({ api, limits: options.limits, isSimulated });
  return [
    mcpRoute({ ...options, answers, mcp: new ProtectedResource(options, "/mcp") }),
    options.tokenRoute,
    ...restRoutes({ answers, api, streams }),
    openbbRoute(answers, api, admit),
    exportRoute(context, admit, streams),
    alertStreamRoute({ admit, log: options.eventLog, streams, repeat }),
    methodRoute({ context, admit, tables: options.tables }),
    ...logRoutes({ admit, signalLog: options.signalLog, isSimulated }),
    healthRoute({ context, name, now, readiness }),
    ...probeRoutes(readiness),
  ];
}

function createExpress(options: AppOptions, writeError: WriteError): Express {
  const { name, version, baseUrl, context, routers, now, limits, anonymousScopes } = options;
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.set("trust proxy", options.proxyHops);
  // All routes mounted below are public, so their requests count against the limit for public
  // requests.
  app.use(async (_req, res, next) => {
    await countPublicRequest(limits, contextOf(res));
    next();
  });
  for (const router of routers) app.use(router);
  const { mode: market } = context.market;
  const site = { baseUrl, name, version, anonymousScopes, market, mcp: mcpProtocol };
  app.use(discoveryRouter(site, now));
  app.use(apiDocsRouter(site, context.market));
  app.use(homeRouter({ ...options, site }));
  app.use(notFoundHandler);
  app.use(errorHandler(writeError));
  return app;
}
