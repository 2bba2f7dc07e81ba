import type { IncomingMessage, ServerResponse } from "node:http";
import type { Response } from "express";
import type { Caller } from "../auth/caller.ts";
import { requestIdFrom } from "../telemetry/request-id.ts";

/** Header field with which a client can name its request; the answer repeats the name. */
const REQUEST_ID = "x-request-id";

/** Sets the id of a request on its answer. @returns The id. */
export function setRequestId(req: IncomingMessage, res: ServerResponse): string {
  const requestId = requestIdFrom(req.headers[REQUEST_ID]);
  res.setHeader(REQUEST_ID, requestId);
  return requestId;
}

/** The id that an answer carries; `undefined` before `setRequestId`. */
export const requestIdOn = (res: ServerResponse): string | undefined =>
  res.getHeader(REQUEST_ID)?.toString();

/** The path of a request target, as it was sent: nothing is decoded. */
export function pathOf(url: string): string {
  if (!url.startsWith("/")) return URL.parse(url)?.pathname ?? url;
  const end = url.search(/[?#]/);
  return end < 0 ? url : url.slice(0, end);
}

/**
 * The network address of the client, as Express computes `req.ip`: the peer of the connection or,
 * behind reverse proxies, the address that the outermost trusted proxy names.
 *
 * @param proxyHops Trusted reverse proxies. Addresses left of theirs in `X-Forwarded-For` are written
 *   by clients and do not count.
 * @returns `undefined` after the connection has closed.
 */
export function clientAddress(req: IncomingMessage, proxyHops: number): string | undefined {
  if (proxyHops === 0) return req.socket.remoteAddress;
  const named = String(req.headers["x-forwarded-for"] ?? "").split(",");
  const addresses = named.map((name) => name.trim()).filter((name) => name !== "");
  return [...addresses, req.socket.remoteAddress].at(-1 - Math.min(proxyHops, addresses.length));
}

/**
 * The state of one request until its answer has ended. The application creates it first of all;
 * Express passes the same object on as `res.locals`.
 */
export class RequestContext {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** Path of the request target, as it was sent. */
  readonly path: string;
  readonly #proxyHops: number;
  /** Template of the route that answers, such as `/api/alerts/:id`; logs and metrics name it. */
  route: string | undefined;
  /** Decoded values of the variable segments of the route. */
  params: Readonly<Record<string, string>> = {};
  /** Set by authorization, as is `isStillValid`. */
  caller: Caller | undefined;
  /** Looks the credential up again. @returns Whether the caller still has the rights it came with. */
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

/** The context of a request, within Express. */
export const contextOf = (res: ServerResponse): RequestContext =>
  (res as Response).locals as unknown as RequestContext;

/** A request; a router of Express may have cut something off its address. */
type Asked = Pick<IncomingMessage, "url"> & { readonly originalUrl?: string };

/** The whole query of a request, whatever its size; only text, no objects or lists. */
export function queryOf({ url = "", originalUrl = url }: Asked): URLSearchParams {
  const start = originalUrl.indexOf("?");
  return new URLSearchParams(start < 0 ? "" : originalUrl.slice(start + 1));
}
