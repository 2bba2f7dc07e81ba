import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import express, { type RequestHandler } from "express";
import { Problem } from "../../problem.ts";
import { isDeeperThan } from "../api/json-body.ts";
import { isPlainBody, wholeBody } from "../usual-body.ts";

/** Largest MCP message in bytes; tool inputs are far smaller. */
const MAX_MESSAGE_BYTES = 100 * 1024;

/** Deepest nesting of a message; the protocol's own envelope needs about six. */
const MAX_MESSAGE_DEPTH = 32;

/** Most messages in a batch, which protocol 2025-03-26 allows: each may ask for a full page. */
const MAX_BATCH = 10;

/** The content type of JSON as it is usually written. */
const USUAL_TYPE = /^application\/json(; ?charset=utf-8)?$/i;

/** Whether a body is said to be JSON, and nothing unusual about it. */
export const isUsualJson = (headers: IncomingHttpHeaders): boolean =>
  USUAL_TYPE.test(headers["content-type"] ?? "");

/** Whether a body comes as it is, with a length that is known and allowed. */
export const isUsualBody = (headers: IncomingHttpHeaders): boolean =>
  isUsualJson(headers) && isPlainBody(headers, MAX_MESSAGE_BYTES);

/** Leaves out a byte order mark, as the reader of Express does. */
const utf8 = new TextDecoder();

/** Bodies that have been read, or are being read. */
const bodies = new WeakMap<IncomingMessage, Promise<unknown>>();

/**
 * Reads a usual body, once, whoever asks for it. Of a caller who leaves meanwhile nothing is heard.
 *
 * @throws {Problem} `invalid_request` when it is no JSON.
 */
export function readBody(req: IncomingMessage): Promise<unknown> {
  const known = bodies.get(req);
  if (known !== undefined) return known;
  const body = wholeBody(req).then(parsed);
  bodies.set(req, body);
  return body;
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch {
    throw new Problem("invalid_request", {
      detail: "The body is not valid JSON.",
      next: "Send one JSON-RPC message (RFC 8259), encoded as UTF-8.",
    });
  }
}

/**
 * Reads JSON into `req.body`. The reader of Express, which knows encodings and character sets, gets
 * what is not in the usual form; for the rest it takes longer than to answer.
 *
 * @throws {Problem} `unsupported_media_type` for what is no JSON; what else can be wrong is told by
 *   the error handler.
 */
export const readMessage: RequestHandler = async (req, res, next) => {
  if (!isUsualBody(req.headers)) return readUnusual(req, res, next);
  req.body = await readBody(req);
  next();
};

const read = express.json({ limit: MAX_MESSAGE_BYTES, strict: false });

const readUnusual: RequestHandler = (req, res, next) => {
  if (req.is("application/json")) return read(req, res, next);
  throw new Problem("unsupported_media_type", {
    detail: "The body must be application/json.",
    next: "Send one JSON-RPC message with that content type.",
  });
};

/** Bounds what a small body can still ask for. @throws {Problem} `invalid_request`. */
export function requireModest(body: unknown): void {
  if (Array.isArray(body) && body.length > MAX_BATCH) {
    throw new Problem("invalid_request", {
      detail: `A batch has at most ${MAX_BATCH} messages.`,
      next: "Send several batches.",
    });
  }
  if (!isDeeperThan(MAX_MESSAGE_DEPTH, body)) return;
  throw new Problem("invalid_request", {
    detail: `A message nests at most ${MAX_MESSAGE_DEPTH} levels deep.`,
    next: "Send it with fewer levels; tools/list describes the arguments of each tool.",
  });
}
