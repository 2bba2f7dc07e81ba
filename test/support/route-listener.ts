import type { RequestListener } from "node:http";
import type { ErrorRequestHandler } from "express";
import { createErrorWriter, errorHandler } from "../../src/http/errors.ts";
import { RequestContext } from "../../src/http/request-context.ts";
import { type Route, RouteTable } from "../../src/http/route-table.ts";

/** Surroundings of the served routes. */
interface Surroundings {
  /** Told about failures that are not the caller's. */
  readonly onError?: (error: unknown) => void;
  /** Reverse proxies in front; absent: none. */
  readonly proxyHops?: number;
  /** What answers every other path; absent: 404 without a body. */
  readonly fallback?: RequestListener;
}

/** Serves some routes as the application does. */
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

/** The writer of errors at the end of an Express application. */
export const problemHandler = (onError: (error: unknown) => void = () => {}): ErrorRequestHandler =>
  errorHandler(createErrorWriter(onError));
