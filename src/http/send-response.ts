import type { IncomingMessage, ServerResponse } from "node:http";
import { matchesEtag } from "../lib/etag.ts";
import type { ToolAnswer } from "./api/answers.ts";
import {
  type ContentCoding,
  codedEtag,
  compressCached,
  negotiateContentCoding,
} from "./content-coding.ts";
import type { RequestContext } from "./request-context.ts";

/** Value of `Vary`. Caches must not reuse a response for another caller or another format. */
const VARY = "Accept, Authorization, X-Api-Key";

/**
 * Value of `Cache-Control`. Responses are revalidated at each use, because the next session or
 * off-exchange print may change them.
 */
const REVALIDATE = "private, no-cache";

/**
 * Minimum length of a body that is compressed, in characters; a shorter body fits into one packet.
 */
const MIN_COMPRESSED = 1_024;

/** Media types of text formats. */
export const MEDIA_TYPES = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  json: "application/json; charset=utf-8",
  txt: "text/plain; charset=utf-8",
} as const;

/** A body that is identical for every caller who may read it. */
export interface Representation {
  readonly type: string;
  readonly body: string | Uint8Array;
  /** Strong validator (ETag): a hash of the body. */
  readonly etag: string;
}

/**
 * Sends a representation, compressed if the client accepts a coding, or 304 if the client already
 * has it (RFC 9110 sections 8.8.3, 13.1.2 and 15.4.5). Must be called after all other headers are
 * set.
 *
 * Other bodies are not compressed: the length of a compressed body reveals whether text from an
 * attacker repeats a secret in the same body (BREACH). Answers for one caller, tokens, pages with
 * form tokens (sign-in, claim, consent, account) and MCP responses are therefore sent uncompressed.
 */
export async function sendRepresentation(
  req: IncomingMessage,
  res: ServerResponse,
  { type, body, etag }: Representation,
): Promise<void> {
  const coding = body.length < MIN_COMPRESSED ? undefined : negotiateContentCoding(req.headers);
  if (sendIfUnmodified(req, res, { etag, coding })) return;
  res.setHeader("Content-Type", type);
  const sent = coding === undefined ? body : await compressCached(coding, { etag, body });
  res.setHeader("Content-Length", Buffer.byteLength(sent));
  res.end(sent);
}

/**
 * Sets `ETag`, `Vary` and `Content-Encoding`, and sends 304 if the client already has the response.
 *
 * @returns Whether the 304 was sent.
 */
export function sendIfUnmodified(
  req: IncomingMessage,
  res: ServerResponse,
  { etag, coding }: { readonly etag: string; readonly coding: ContentCoding | undefined },
): boolean {
  const tag = codedEtag(etag, coding);
  res.setHeader("ETag", tag);
  const vary = res.getHeader("Vary");
  res.setHeader("Vary", vary === undefined ? "Accept-Encoding" : `${vary}, Accept-Encoding`);
  if (res.statusCode === 200 && matchesEtag(req, tag)) {
    res.writeHead(304).end();
    return true;
  }
  if (coding !== undefined) res.setHeader("Content-Encoding", coding);
  return false;
}

/**
 * Sets the caching headers of a response that has an ETag and is sent only to authorized callers.
 */
export function setPrivateHeaders(res: ServerResponse, cacheControl: string = REVALIDATE): void {
  res.setHeader("Cache-Control", cacheControl);
  res.setHeader("Vary", VARY);
}

/**
 * Sends the result of a tool.
 *
 * @param cacheControl Value of `Cache-Control` for results with an ETag.
 */
export async function sendAnswer(
  { req, res }: Pick<RequestContext, "req" | "res">,
  { json, etag }: ToolAnswer,
  cacheControl: string = REVALIDATE,
): Promise<void> {
  if (etag === undefined) return sendJson(res, json);
  setPrivateHeaders(res, cacheControl);
  await sendRepresentation(req, res, { type: MEDIA_TYPES.json, body: json, etag });
}

/** Sends JSON with the headers that Express would set, but without content negotiation. */
export function sendJson(res: ServerResponse, json: string): void {
  res.setHeader("Content-Type", MEDIA_TYPES.json);
  res.setHeader("Content-Length", Buffer.byteLength(json));
  res.end(json);
}
