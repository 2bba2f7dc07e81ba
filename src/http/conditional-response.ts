import type { IncomingMessage, ServerResponse } from "node:http";
import { matchesEtag } from "../lib/etag.ts";
import type { Answer } from "./api/answers.ts";

/** Caches must not share a response between callers. */
const VARY = "Authorization, X-Api-Key";

/** Responses are revalidated on each use: the next session or print may change them. */
const REVALIDATE = "private, no-cache";

/** A JSON response to an authorized caller. */
interface Validated {
  readonly json: string;
  /** Absent for responses that must not be cached. */
  readonly etag: string | undefined;
  readonly cacheControl: string;
}

/** Sends JSON with its validator, or 304 if the caller already has it. */
export function sendValidated(
  req: IncomingMessage,
  res: ServerResponse,
  { json, etag, cacheControl }: Validated,
): void {
  if (etag === undefined) return void sendJson(res, json);
  res.setHeader("ETag", etag);
  res.setHeader("Cache-Control", cacheControl);
  res.setHeader("Vary", VARY);
  if (!matchesEtag(req, etag)) sendJson(res, json);
  else res.writeHead(304).end();
}

/** Sends the result of a tool. */
export function sendAnswer(
  req: IncomingMessage,
  res: ServerResponse,
  { json, etag }: Answer,
): void {
  sendValidated(req, res, { json, etag, cacheControl: REVALIDATE });
}

/** Sends JSON with the headers Express would set, without its content negotiation. */
export function sendJson(res: ServerResponse, json: string): void {
  res.setHeader("Content-Type", "application/json; charset=utf-8");
  res.setHeader("Content-Length", Buffer.byteLength(json));
  res.end(json);
}
