import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import express, { type Request, type RequestHandler } from "express";
import { Problem } from "../lib/problem.ts";
import type { RequestContext } from "./request-context.ts";

/**
 * Compares the media type of the body with `type`, as `req.is` of Express does.
 *
 * @returns The matching type; `false` for another type; `null` without a body.
 */
export const hasMediaType = (req: IncomingMessage, type: string): string | false | null =>
  express.request.is.call(req as Request, type);

/**
 * Runs an Express body parser. The caller configures the parser's size limit.
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
 * Whether a body has no content coding and a `Content-Length` of at most `most`.
 *
 * @param most Maximum size, in bytes.
 */
export function isUncodedBodyWithin(headers: IncomingHttpHeaders, most: number): boolean {
  const length = Number(headers["content-length"] ?? 0);
  return length > 0 && length <= most && headers["content-encoding"] === undefined;
}

/**
 * Reads a body without content coding, faster than the Express parsers. If the client disconnects
 * first, the promise never settles.
 */
export function readUncodedBody(req: IncomingMessage): Promise<Buffer> {
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  req.on("data", (chunk: Buffer) => chunks.push(chunk));
  req.once("end", () => resolve(Buffer.concat(chunks)));
  return promise;
}

/** Maximum nesting depth of a JSON body of the REST interface; tool inputs need two levels. */
const MAX_REST_DEPTH = 8;

/**
 * Checks the nesting depth of a JSON body of the REST interface.
 *
 * @throws {Problem} `invalid_request`
 */
export function requireShallowJson(body: unknown): void {
  if (!isNestedDeeperThan(MAX_REST_DEPTH, body)) return;
  throw new Problem("invalid_request", {
    detail: `A body nests at most ${MAX_REST_DEPTH} levels deep.`,
    next: "Send it with fewer levels; /docs/api describes each body.",
  });
}

/** Whether objects and arrays in a value are nested more than `levels` deep. */
export function isNestedDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return (
    levels === 0 || Object.values(value).some((member) => isNestedDeeperThan(levels - 1, member))
  );
}
