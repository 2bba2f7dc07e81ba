import type { IncomingMessage, ServerResponse } from "node:http";
import { isKnown } from "../lib/etag.ts";
import type { Answer } from "./api/answers.ts";

/** Where the answer to one caller is kept, it is kept for nobody else. */
const VARY = "Authorization, X-Api-Key";

/** What is asked for again whenever it is used: the next session, or print, may change it. */
const ALWAYS_ASK = "private, no-cache";

/** JSON for callers who were let in. */
interface Validated extends Pick<Answer, "json" | "etag"> {
  /** How long it may be used without asking, for `Cache-Control`. */
  readonly cache: string;
}

/** Sends JSON with its validator, or only says that the caller has it already. What has none is sent
 *  as it is, and not to be stored. */
export function sendValidated(
  req: IncomingMessage,
  res: ServerResponse,
  { json, etag, cache }: Validated,
): void {
  if (etag === undefined) return void sendJson(res, json);
  res.setHeader("ETag", etag);
  res.setHeader("Cache-Control", cache);
  res.setHeader("Vary", VARY);
  if (!isKnown(req, etag)) sendJson(res, json);
  else res.writeHead(304).end();
}

/** Sends what a tool answered. */
export function sendAnswer(req: IncomingMessage, res: ServerResponse, answer: Answer): void {
  sendValidated(req, res, { ...answer, cache: ALWAYS_ASK });
}

/** Sends JSON as Express sends an object, without asking what it is. */
export function sendJson(res: ServerResponse, json: string): void {
  res.setHeader("Content-Type", "application/json; charset=utf-8");
  res.setHeader("Content-Length", Buffer.byteLength(json));
  res.end(json);
}
