import type { IncomingMessage, ServerResponse } from "node:http";
import { matchesEtag } from "../lib/etag.ts";
import type { Answer } from "./api/answers.ts";

/** Caches must not share a response between callers, nor between the forms that it can be had in. */
const VARY = "Accept, Authorization, X-Api-Key";

/** Responses are revalidated on each use: the next session or print may change them. */
const REVALIDATE = "private, no-cache";

/** What a caller that already has a response knows it by. */
interface Validator {
  /** Absent for responses that must not be cached. */
  readonly etag: string | undefined;
  readonly cacheControl?: string;
}

/** A JSON response to an authorized caller. */
interface Validated extends Validator {
  readonly json: string;
}

/** Sends JSON with its validator, or 304 if the caller already has it. */
export function sendValidated(
  req: IncomingMessage,
  res: ServerResponse,
  { json, ...validator }: Validated,
): void {
  if (!isUnmodified(req, res, validator)) sendJson(res, json);
}

/**
 * Sets the headers by which a response can be validated, and sends 304 if the caller already has it.
 *
 * @returns Whether it was sent.
 */
export function isUnmodified(
  req: IncomingMessage,
  res: ServerResponse,
  { etag, cacheControl = REVALIDATE }: Validator,
): boolean {
  if (etag === undefined) return false;
  res.setHeader("ETag", etag);
  res.setHeader("Cache-Control", cacheControl);
  res.setHeader("Vary", VARY);
  if (!matchesEtag(req, etag)) return false;
  res.writeHead(304).end();
  return true;
}

/** Sends the result of a tool. */
export function sendAnswer(
  req: IncomingMessage,
  res: ServerResponse,
  { json, etag }: Answer,
): void {
  sendValidated(req, res, { json, etag });
}

/** Sends JSON with the headers Express would set, without its content negotiation. */
export function sendJson(res: ServerResponse, json: string): void {
  res.setHeader("Content-Type", "application/json; charset=utf-8");
  res.setHeader("Content-Length", Buffer.byteLength(json));
  res.end(json);
}
