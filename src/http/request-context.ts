import type { IncomingMessage, ServerResponse } from "node:http";
import type { Response } from "express";
import type { Caller } from "../access/caller.ts";
import { requestIdFrom } from "../lib/request-id.ts";

/** Header with which a client can set the id of its request; the response repeats the id. */
const REQUEST_ID = "x-request-id";

/**
 * Sets the id of a request on its response.
 *
 * @returns The id.
 */
export function setRequestId(req: IncomingMessage, res: ServerResponse): string {
  const requestId = requestIdFrom(req.headers[REQUEST_ID]);
  res.setHeader(REQUEST_ID, requestId);
  return requestId;
}

/** The request id of a response; `undefined` before `setRequestId`. */
export const requestIdOn = (res: ServerResponse): string | undefined =>
  res.getHeader(REQUEST_ID)?.toString();

/** The path of a request target, still percent-encoded. */
export function pathOf(url: string): string {
  if (!url.startsWith("/")) return URL.parse(url)?.pathname ?? url;
  const end = url.search(/[?#]/);
  return end < 0 ? url : url.slice(0, end);
}

/**
 * The network address of the client, as Express computes `req.ip`: the peer of the connection or,
 * behind reverse proxies, the address that the outermost trusted proxy reports.
 *
 * @param proxyHops Number of trusted reverse proxies. Addresses further left in `X-Forwarded-For`
 * come from clients and are ignored.
 * @returns `undefined` after the connection has closed.
 */
export function clientAddress(req: IncomingMessage, proxyHops: number): string | undefined {
  if (proxyHops === 0) return req.socket.remoteAddress;
  const named = String(req.headers["x-forwarded-for"] ?? "").split(",");
  const addresses = named.map((name) => name.trim()).filter((name) => name !== "");
  return [...addresses, req.socket.remoteAddress].at(-1 - Math.min(proxyHops, addresses.length));
}

/**
 * State of one request until its response has ended. It is created before routing; Express receives
 * the same object as `res.locals`.
 */
export class RequestContext {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** Path of the request target, still percent-encoded. */
  readonly path: string;
  readonly #proxyHops: number;
  /** Template of the matching route, such as `/api/alerts/:id`, for logs and metrics. */
  route: string | undefined;
  /** Decoded values of the variable segments of the route. */
  params: Readonly<Record<string, string>> = {};
  /** The authenticated caller. Authorization sets this member and `isStillValid`. */
  caller: Caller | undefined;
  /**
   * Looks up the credential again.
   *
   * @returns Whether the caller still has all of its original rights.
   */
  isStillValid: () => Promise<boolean> = async () => false;

  constructor(req: IncomingMessage, res: ServerResponse, proxyHops: number) {
    this.req = req;
    this.res = res;
    this.path = pathOf(req.url ?? "");
    this.#proxyHops = proxyHops;
    (res as Response).locals = this;
  }

  /** Network address of the client; `undefined` after the connection has closed. */
  get ip(): string | undefined {
    return clientAddress(this.req, this.#proxyHops);
  }
}

/** The context of a request that Express handles. */
export const contextOf = (res: ServerResponse): RequestContext =>
  (res as Response).locals as unknown as RequestContext;

/** A request with its URL, from which an Express router may have removed a prefix. */
type RequestUrl = Pick<IncomingMessage, "url"> & { readonly originalUrl?: string };

/** The query of a request. It is never truncated, however many parameters it has. */
export function queryOf({ url = "", originalUrl = url }: RequestUrl): URLSearchParams {
  const start = originalUrl.indexOf("?");
  return new URLSearchParams(start < 0 ? "" : originalUrl.slice(start + 1));
}

/**
 * The values of each parameter in a query. Calling `getAll` for each name would take quadratic
 * time, because 16 kB can contain thousands of names.
 */
export function queryValues(request: RequestUrl): ReadonlyMap<string, readonly string[]> {
  const values = new Map<string, string[]>();
  for (const [name, value] of queryOf(request)) {
    const earlier = values.get(name);
    if (earlier === undefined) values.set(name, [value]);
    else earlier.push(value);
  }
  return values;
}

/**
 * The parameters of a query. A repeated parameter becomes a list, which schemas for single values
 * reject.
 */
export const queryParameters = (request: RequestUrl): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Array.from(queryValues(request), ([name, values]) => [
      name,
      values.length === 1 ? values[0] : values,
    ]),
  );
