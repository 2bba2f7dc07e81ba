import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import express, { type Request, type RequestHandler } from "express";
import type { RequestContext } from "./request-context.ts";

/**
 * Whether the body has a media type, as `req.is` of Express.
 *
 * @returns `null` without a body.
 */
export const hasMediaType = (req: IncomingMessage, type: string): string | false | null =>
  express.request.is.call(req as Request, type);

/**
 * Runs a body parser of Express, which the caller gives its limit.
 *
 * @returns The parsed body.
 */
export function parseBody(parser: RequestHandler, { req, res }: RequestContext): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const request = req as Request;
  const next = (error?: unknown) => (error === undefined ? resolve(request.body) : reject(error));
  parser(request, res as Parameters<RequestHandler>[1], next);
  return promise;
}

/**
 * Whether a body is not encoded and has an acceptable `Content-Length`.
 *
 * @param most Maximum bytes.
 */
export function isPlainBody(headers: IncomingHttpHeaders, most: number): boolean {
  const length = Number(headers["content-length"] ?? 0);
  return length > 0 && length <= most && headers["content-encoding"] === undefined;
}

/**
 * Reads a plain body faster than the Express parsers. If the client disconnects first, the promise
 * never settles.
 */
export function readPlainBody(req: IncomingMessage): Promise<Buffer> {
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  req.on("data", (chunk: Buffer) => chunks.push(chunk));
  req.once("end", () => resolve(Buffer.concat(chunks)));
  return promise;
}

/** Whether a value nests objects and arrays more deeply than this many levels. */
export function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeperThan(levels - 1, member));
}
