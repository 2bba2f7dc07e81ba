import type { RequestListener } from "node:http";
import type { ErrorRequestHandler } from "express";
import { createErrorWriter, errorHandler } from "../../src/http/errors.ts";
import { RequestContext } from "../../src/http/request-context.ts";
import { type Route, RouteTable } from "../../src/http/route-table.ts";

/** Options of the listener. */
interface Surroundings {
  /** Called for errors that are not the fault of the caller. */
  readonly onError?: (error: unknown) => void;
  /** Number of trusted reverse proxies; absent: none. */
  readonly proxyHops?: number;
  /** Handles all other paths; absent: 404 without a body. */
  readonly fallback?: RequestListener;
}

/** Creates a listener that serves some routes as the application does. */
export function listenerOf(
  routes: readonly Route[],
  { onError = () => {}, proxyHops = 0, fallback = answer404 }: Surroundings = {},
): RequestListener {
  const table = new RouteTable(routes, createErrorWriter(onError));
  return (req, res) => {
    if (!table.handle(new RequestContext(req, res, proxyHops))) fallback(req, res);
  };
}

const answer404: RequestListener = (_req, res) => void res.writeHead(404).end();

/** The error handler for the end of an Express application. */
export const problemHandler = (onError: (error: unknown) => void = () => {}): ErrorRequestHandler =>
  errorHandler(createErrorWriter(onError));
