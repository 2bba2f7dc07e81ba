import type { IncomingMessage, ServerResponse } from "node:http";
import { matchesEtag } from "../lib/etag.ts";
import type { Answer } from "./api/answers.ts";

/** A cache keeps the answer to one caller for that caller alone. */
const VARY = "Authorization, X-Api-Key";

/** Validated whenever it is used: the next session, or print, may change it. */
const REVALIDATE = "private, no-cache";

/** JSON for an authorized caller. */
interface Validated {
  readonly json: string;
  /** Absent: it is sent as it is, and not to be stored. */
  readonly etag: string | undefined;
  readonly cacheControl: string;
}

/** Sends JSON with its validator, or 304 when the caller has it already. */
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

/** Sends the answer of a tool. */
export function sendAnswer(
  req: IncomingMessage,
  res: ServerResponse,
  { json, etag }: Answer,
): void {
  sendValidated(req, res, { json, etag, cacheControl: REVALIDATE });
}

/** Sends JSON as Express sends an object, without asking what it is. */
export function sendJson(res: ServerResponse, json: string): void {
  res.setHeader("Content-Type", "application/json; charset=utf-8");
  res.setHeader("Content-Length", Buffer.byteLength(json));
  res.end(json);
}
