import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import express, { type Request, type RequestHandler } from "express";
import type { RequestContext } from "./request-context.ts";

/** `req.is` of Express for any request: whether a body has a media type.
 *  @returns `null` when there is no body. */
export const hasType = (req: IncomingMessage, type: string): string | false | null =>
  express.request.is.call(req as Request, type);

/** Runs a body parser of Express. @returns What it made of the body. */
export function parseBody(parser: RequestHandler, { req, res }: RequestContext): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const request = req as Request;
  const next = (error?: unknown) => (error === undefined ? resolve(request.body) : reject(error));
  parser(request, res as Parameters<RequestHandler>[1], next);
  return promise;
}

/** Whether a body comes unencoded, with a length that is known and allowed. @param most Bytes. */
export function isPlainBody(headers: IncomingHttpHeaders, most: number): boolean {
  const length = Number(headers["content-length"] ?? 0);
  return length > 0 && length <= most && headers["content-encoding"] === undefined;
}

/** Reads a plain body to its end; the parsers of Express take longer. When the client disconnects
 *  first, the promise never settles. */
export function readPlainBody(req: IncomingMessage): Promise<Buffer> {
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  req.on("data", (chunk: Buffer) => chunks.push(chunk));
  req.once("end", () => resolve(Buffer.concat(chunks)));
  return promise;
}

/** Whether a value has more levels of objects and lists in it. */
export function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeperThan(levels - 1, member));
}
