import type { IncomingMessage, ServerResponse } from "node:http";
import { matchesEtag } from "../lib/etag.ts";
import type { Answer } from "./api/answers.ts";
import { type ContentCoding, codedEtag, codingFor, compressOnce } from "./content-coding.ts";
import type { RequestContext } from "./request-context.ts";

/** Caches must not share a response between callers, nor between the formats of a response. */
const VARY = "Accept, Authorization, X-Api-Key";

/** Responses are revalidated on each use: the next session or print may change them. */
const REVALIDATE = "private, no-cache";

/** Minimum length of a body that is compressed, in characters: shorter ones fit into one packet. */
const MIN_COMPRESSED = 1_024;

/** Media types of texts. */
export const MEDIA_TYPES = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  json: "application/json; charset=utf-8",
  txt: "text/plain; charset=utf-8",
} as const;

/** A body that is the same for every caller who may read it. */
export interface Representation {
  readonly type: string;
  readonly body: string | Uint8Array;
  /** A strong validator: a hash of the body. */
  readonly etag: string;
}

/**
 * Sends a representation, compressed where the client accepts that, or 304 if the client already has
 * it (RFC 9110 sections 8.8.3, 13.1.2 and 15.4.5). Must be called after all other headers are set.
 *
 * Nothing else is compressed: the length of a compressed body reveals whether an attacker's text
 * repeats a secret in it (BREACH). Answers for one caller, tokens, pages with form tokens (sign-in,
 * claim, consent, account) and MCP are therefore sent uncompressed.
 */
export async function sendRepresentation(
  req: IncomingMessage,
  res: ServerResponse,
  { type, body, etag }: Representation,
): Promise<void> {
  const coding = body.length < MIN_COMPRESSED ? undefined : codingFor(req.headers);
  if (isUnmodified(req, res, { etag, coding })) return;
  res.setHeader("Content-Type", type);
  const sent = coding === undefined ? body : await compressOnce(coding, { etag, body });
  res.setHeader("Content-Length", Buffer.byteLength(sent));
  res.end(sent);
}

/**
 * Sets the headers by which a response can be validated and cached, and its coding, and sends 304 if
 * the client already has it.
 *
 * @returns Whether it was sent.
 */
export function isUnmodified(
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

/** Sets the headers of an answer to authorized callers that can be validated. */
export function setPrivateHeaders(res: ServerResponse, cacheControl: string = REVALIDATE): void {
  res.setHeader("Cache-Control", cacheControl);
  res.setHeader("Vary", VARY);
}

/**
 * Sends the result of a tool.
 *
 * @param cacheControl Value of Cache-Control for shared results.
 */
export async function sendAnswer(
  { req, res }: Pick<RequestContext, "req" | "res">,
  { json, etag }: Answer,
  cacheControl: string = REVALIDATE,
): Promise<void> {
  if (etag === undefined) return sendJson(res, json);
  setPrivateHeaders(res, cacheControl);
  await sendRepresentation(req, res, { type: MEDIA_TYPES.json, body: json, etag });
}

/** Sends JSON with the headers Express would set, without its content negotiation. */
export function sendJson(res: ServerResponse, json: string): void {
  res.setHeader("Content-Type", MEDIA_TYPES.json);
  res.setHeader("Content-Length", Buffer.byteLength(json));
  res.end(json);
}
