import express from "express";
import { Problem } from "../../problem.ts";
import { hasType, isDeeperThan, parseBody } from "../request-body.ts";
import type { RequestContext } from "../request-context.ts";

/** Largest body of a tool's route, in bytes (reliability section 5). */
const MAX_BODY_BYTES = 16 * 1024;

/** Deepest nesting of a body; inputs of tools need two levels. */
const MAX_BODY_DEPTH = 8;

const json = express.json({ limit: MAX_BODY_BYTES, inflate: false });

/** The members of a JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Reads a JSON body of modest size; no body at all is like an empty object.
 *
 * @throws {Problem} `unsupported_media_type`; other errors of the parser are worded by the writer of
 *   errors. `asObject` checks the value.
 */
export async function readJson(context: RequestContext): Promise<unknown> {
  const { req } = context;
  const isEmpty = req.headers["content-length"] === "0";
  if (!isEmpty && hasType(req, "application/json") === false) {
    throw new Problem("unsupported_media_type", {
      detail: "The body must be application/json.",
      next: "Send one JSON object with that content type.",
    });
  }
  return parseBody(json, context);
}

/** @throws {Problem} `invalid_request` when a body is no object, or too deep. */
export function asObject(body: unknown = {}): JsonObject {
  if (Array.isArray(body)) {
    throw new Problem("invalid_request", {
      detail: "The body is a list.",
      next: "Send one JSON object.",
    });
  }
  if (!isDeeperThan(MAX_BODY_DEPTH, body)) return body as JsonObject;
  throw new Problem("invalid_request", {
    detail: `A body nests at most ${MAX_BODY_DEPTH} levels deep.`,
    next: "Send it with fewer levels; /docs/api describes each body.",
  });
}
