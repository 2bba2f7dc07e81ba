import type { IncomingHttpHeaders } from "node:http";
import express from "express";
import { Problem } from "../../lib/problem.ts";
import { networkOf } from "../../limits/address-key.ts";
import { NetworkSlots } from "../../limits/network-slots.ts";
import type { SharedCapacity } from "../../limits/party-share.ts";
import {
  hasMediaType,
  isNestedDeeperThan,
  isUncodedBodyWithin,
  parseBody,
  readUncodedBody,
} from "../body-readers.ts";
import type { RequestContext } from "../request-context.ts";

/** Maximum size of a message, in bytes; tool inputs are far smaller. */
const MAX_MESSAGE_BYTES = 100 * 1024;

/** Maximum nesting depth of a message; the protocol's own envelope needs about six levels. */
const MAX_MESSAGE_DEPTH = 32;

/** Maximum number of messages in a batch, which protocol 2025-03-26 allows; each may request a full
 *  page. */
const MAX_BATCH = 10;

/**
 * Maximum number of compressed messages that are being received. Each takes up to 0.3 MB until it
 * has arrived (measured with gzip), which can take 30 seconds.
 */
const DECODERS: SharedCapacity = { total: 200, most: 50 };

/** Matches the common spellings of the JSON content type. */
const COMMON_JSON_TYPE = /^application\/json(; ?charset=utf-8)?$/i;

/** Whether a body has a JSON content type in a common spelling. */
export const hasPlainJsonType = (headers: IncomingHttpHeaders): boolean =>
  COMMON_JSON_TYPE.test(headers["content-type"] ?? "");

/**
 * Whether a body has a JSON content type in a common spelling, no content coding and an acceptable
 * `Content-Length`.
 */
const isCommonBody = (headers: IncomingHttpHeaders): boolean =>
  hasPlainJsonType(headers) && isUncodedBodyWithin(headers, MAX_MESSAGE_BYTES);

/** Decoder that ignores a byte order mark, as the Express parser does. */
const utf8 = new TextDecoder();

/**
 * Creates the function that reads messages. Only unusual bodies go through the Express parser, which
 * handles content codings and character sets but takes longer than answering a message.
 *
 * The function throws the problems `unsupported_media_type` for Brotli and for a type other than
 * JSON, `invalid_request` for malformed JSON, and `overloaded` if too many messages are being
 * decoded; the error writer converts other errors of the parser.
 */
export function createMessageReader(): (context: RequestContext) => Promise<unknown> {
  const decoders = new NetworkSlots(DECODERS);
  const enterDecoder = ({ res, ip }: RequestContext): void => {
    const network = networkOf(ip);
    if (!decoders.hasRoomFor(network)) throw TOO_MANY_DECODERS;
    // `close` was already emitted if the client disconnected during authorization.
    if (res.destroyed) return;
    decoders.enter(network);
    res.once("close", () => decoders.leave(network));
  };
  return async (context) => {
    const { req } = context;
    if (isCommonBody(req.headers)) return parseJson(await readUncodedBody(req));
    if (!hasMediaType(req, "application/json")) throw NOT_JSON;
    const coding = req.headers["content-encoding"]?.toLowerCase();
    if (coding === "br") throw BROTLI;
    if (coding !== undefined) enterDecoder(context);
    return parseBody(json, context);
  };
}

const NOT_JSON = new Problem("unsupported_media_type", {
  detail: "The body must be application/json.",
  next: "Send one JSON-RPC message with that content type.",
});

/**
 * Brotli looks back over 16 MB, so a message of 51 bytes fills as much memory before its size is
 * known: a hundred of them left 1 GB (measured). gzip and deflate look back over 32 kB.
 */
const BROTLI = new Problem("unsupported_media_type", {
  detail: "Messages compressed with Brotli are not accepted.",
  next: "Send the message uncompressed, or compressed with gzip.",
  headers: { "Accept-Encoding": "gzip, deflate" },
});

const TOO_MANY_DECODERS = new Problem("overloaded", {
  detail: "More compressed messages arrive than can be decoded at a time.",
  next: "Send the message without Content-Encoding, or again after the time in Retry-After.",
  headers: { "Retry-After": "3" },
});

const json = express.json({ limit: MAX_MESSAGE_BYTES, strict: false });

function parseJson(bytes: Buffer): unknown {
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
 * Rejects long batches and deeply nested values, because even a small body of this kind could cause
 * a lot of work.
 *
 * @throws {Problem} `invalid_request`
 */
export function checkComplexity(body: unknown): void {
  if (Array.isArray(body) && body.length > MAX_BATCH) {
    throw new Problem("invalid_request", {
      detail: `A batch may have at most ${MAX_BATCH} messages.`,
      next: "Send several batches.",
    });
  }
  if (!isNestedDeeperThan(MAX_MESSAGE_DEPTH, body)) return;
  throw new Problem("invalid_request", {
    detail: `A message nests at most ${MAX_MESSAGE_DEPTH} levels deep.`,
    next: "Send it with fewer levels; tools/list describes the arguments of each tool.",
  });
}
