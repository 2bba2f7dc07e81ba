import express, { type Request, type RequestHandler } from "express";
import { Problem } from "../../problem.ts";

/** Largest body of a tool's route, in bytes (reliability section 5). */
const MAX_BODY_BYTES = 16 * 1024;

/** Deepest nesting of a body; inputs of tools need two levels. */
const MAX_BODY_DEPTH = 8;

/** Whether a value has more levels of objects and lists in it. */
export function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeperThan(levels - 1, member));
}

/** No body at all is like an empty object. */
const onlyJson: RequestHandler = (req, _res, next) => {
  const isEmpty = req.headers["content-length"] === "0";
  if (isEmpty || req.is("application/json") !== false) return next();
  throw new Problem("unsupported_media_type", {
    detail: "The body must be application/json.",
    next: "Send one JSON object with that content type.",
  });
};

/**
 * Reads a JSON body of modest size, for `bodyOf`.
 *
 * @throws {Problem} `unsupported_media_type`; what else can be wrong is told by the error handler.
 */
export const jsonBody: readonly RequestHandler[] = [
  onlyJson,
  express.json({ limit: MAX_BODY_BYTES, inflate: false }),
];

/** The members of a body. @throws {Problem} `invalid_request` when it is no object, or too deep. */
export function bodyOf({ body = {} }: Pick<Request, "body">): Readonly<Record<string, unknown>> {
  if (Array.isArray(body)) {
    throw new Problem("invalid_request", {
      detail: "The body is a list.",
      next: "Send one JSON object.",
    });
  }
  if (!isDeeperThan(MAX_BODY_DEPTH, body)) return body;
  throw new Problem("invalid_request", {
    detail: `A body nests at most ${MAX_BODY_DEPTH} levels deep.`,
    next: "Send it with fewer levels; /docs/api describes each body.",
  });
}
