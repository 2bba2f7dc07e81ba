import express, { type Express, type RequestHandler, type Router } from "express";
import type { Authenticate } from "../auth/bearer.ts";
import type { ToolContext } from "../tool.ts";
import { discoveryRouter } from "./discovery.ts";
import { notFound, sendProblem } from "./errors.ts";
import { createGate } from "./gate.ts";
import { healthRouter } from "./health.ts";
import { mcpRouter } from "./mcp.ts";
import { restRouter } from "./rest.ts";

/** What the HTTP surface is made from. */
export interface AppOptions {
  readonly name: string;
  readonly version: string;
  /** Public origin, without a trailing slash; the only source of addresses in answers. */
  readonly baseUrl: string;
  readonly context: ToolContext;
  readonly authenticate: Authenticate;
  /** The OAuth endpoints; they read bodies themselves and so come first. */
  readonly oauth: Router;
  readonly now: () => Date;
  /** Told about every failure that is not the caller's. */
  readonly onError: (error: unknown) => void;
  /** Told why the MCP SDK refused a message, for debugging. */
  readonly onRefusal: (error: unknown) => void;
}

/** Every answer is data: nothing may be sniffed, framed, cached by chance or run. */
const hardenHeaders: RequestHandler = (_req, res, next) => {
  res.set({
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
  });
  next();
};

/** Builds the Express application. */
export function createApp(options: AppOptions): Express {
  const { name, version, baseUrl, context, authenticate, oauth, now, onError, onRefusal } = options;
  const gate = (path: "" | "/mcp") => createGate({ authenticate, baseUrl }, path);
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.use(hardenHeaders);
  app.use(oauth);
  app.use(discoveryRouter({ baseUrl, name }));
  app.use(healthRouter({ context, name, version, now }));
  const mcp = { context, gate: gate("/mcp"), name, version, baseUrl, onError, onRefusal };
  app.use(mcpRouter(mcp));
  app.use(restRouter(context, gate("")));
  app.use(notFound);
  app.use(sendProblem(onError));
  return app;
}
