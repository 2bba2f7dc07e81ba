import type { RequestListener } from "node:http";
import express, { type Express, type RequestHandler, type Router } from "express";
import type { Logger } from "pino";
import type { Authenticate } from "../auth/caller.ts";
import type { Scope } from "../auth/scopes.ts";
import type { Repeat } from "../lib/loop.ts";
import type { Limits } from "../limits/limits.ts";
import type { PeerTables } from "../score/peers.ts";
import type { Meters } from "../telemetry/meters.ts";
import type { ToolContext } from "../tool.ts";
import { type EventLog, eventStreamRouter } from "./api/alert-stream.ts";
import { type Answers, createAnswers } from "./api/answers.ts";
import { createReads, type Reads } from "./api/fast-reads.ts";
import { healthRouter } from "./api/health.ts";
import { type Readiness, readinessRouter } from "./api/readiness.ts";
import { restRouter } from "./api/rest.ts";
import { methodRouter } from "./api/scoring-method.ts";
import { measuredAnswers } from "./api/telemetry-answers.ts";
import { createGate, type ResourcePath } from "./authorize.ts";
import { discoveryRouter, openToPages } from "./discovery/documents.ts";
import { linkToDescriptions } from "./discovery/link-headers.ts";
import { apiDocsRouter } from "./docs/api-reference.ts";
import { HARDENED, notFound, pageForBrowsers, sendPlainProblem, sendProblem } from "./errors.ts";
import { createMcp, type Mcp, type McpOptions } from "./mcp/endpoint.ts";
import { announced } from "./mcp/server-factory.ts";
import type { OAuth } from "./oauth/endpoints.ts";
import type { Streams } from "./open-streams.ts";
import { createShowPage } from "./pages/answer.ts";
import { errorPages } from "./pages/error.ts";
import { type HomeOptions, homeRouter } from "./pages/home/home-routes.ts";
import { styleAddress } from "./pages/style-route.ts";
import { createVisits, type Visit } from "./rate-limits.ts";
import { faultOf } from "./request-form.ts";
import { observed } from "./request-telemetry.ts";
import { routesOf, type ServedRoute } from "./served-routes.ts";

/** What the HTTP surface is made from. */
export interface AppOptions extends Pick<McpOptions, "mcpAddition" | "mcpFastPath"> {
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
  /** What has paths of its own; they read bodies themselves and so come first. */
  readonly routers: readonly Router[];
  /** Answers token requests before Express does. */
  readonly tokens: OAuth["tokens"];
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

const hardenHeaders: RequestHandler = (_req, res, next) => {
  res.set(HARDENED);
  next();
};

/** The HTTP surface. */
export interface App {
  readonly handle: RequestListener;
  /** Everything that it serves. */
  readonly routes: readonly ServedRoute[];
}

/**
 * Builds the application. A request of a form that nobody sends by mistake never reaches Express,
 * which would answer some with a page of its own.
 */
export function createApp(options: AppOptions): App {
  const { context, baseUrl, meters } = options;
  const answers = measuredAnswers(createAnswers(context), meters);
  const reads = createReads({ answers, gate: createGate(options, ""), baseUrl });
  const mcp = createMcp({ ...options, answers, gate: createGate(options, "/mcp") });
  const visit = createVisits(options.limits, options.proxyHops);
  const app = createExpress(options, { answers, reads, mcp, visit });
  const handle = mcp.before(reads.before(options.tokens.before(app, visit)));
  const isSecure = baseUrl.startsWith("https:");
  return {
    routes: routesOf(app),
    handle: observed((req, res) => {
      if (isSecure) res.setHeader("strict-transport-security", HSTS);
      const problem = faultOf(req);
      if (problem === undefined) handle(req, res);
      else sendPlainProblem(res, problem);
    }, options),
  };
}

interface Answering {
  readonly answers: Answers;
  readonly reads: Reads;
  readonly mcp: Mcp;
  readonly visit: Visit;
}

function createExpress(options: AppOptions, { answers, reads, mcp, visit }: Answering): Express {
  const { name, version, baseUrl, context, tables, routers, now, onError } = options;
  const gate = (path: ResourcePath) => createGate(options, path);
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.set("trust proxy", options.proxyHops);
  app.use(hardenHeaders, openToPages, linkToDescriptions(baseUrl), reads.refuse);
  // Most requests are calls of tools, and each router in front of one costs them time.
  app.use(mcp.router);
  app.use(eventStreamRouter({ ...options, gate: gate(""), log: options.eventLog }));
  app.use(restRouter(answers, gate("")));
  app.use(methodRouter({ context, tables, gate: gate("") }));
  app.use(healthRouter({ context, name, version, now, readiness: options.readiness }));
  app.use(readinessRouter(options.readiness));
  // What follows is open to everyone.
  app.use(async (req, res, next) => {
    await visit(req, res);
    next();
  });
  for (const router of routers) app.use(router);
  const { anonymousScopes } = options;
  const site = {
    ...{ baseUrl, name, version, anonymousScopes },
    ...{ market: context.market.mode, mcp: announced },
  };
  app.use(discoveryRouter(site, now));
  app.use(apiDocsRouter(site));
  app.use(homeRouter({ ...options, site }));
  app.use(notFound);
  app.use(
    pageForBrowsers(
      errorPages({ show: createShowPage({ name, stylePath: styleAddress }), now, onError }),
    ),
  );
  app.use(sendProblem(onError));
  return app;
}
