import type { RequestHandler, Router } from "express";
import { Problem } from "../lib/problem.ts";

/** The `Allow` header value for a list of methods; GET implies HEAD. */
export const allowHeader = (methods: readonly string[]): string =>
  methods.join(", ").toUpperCase().replace("GET", "GET, HEAD");

/**
 * Creates the 405 problem for a method that a path does not support.
 *
 * @param allow Value of the `Allow` header.
 */
export function methodNotAllowedProblem(method: string | undefined, allow: string): Problem {
  return new Problem("method_not_allowed", {
    detail: `${method} is not supported here.`,
    next: `Use ${allow}.`,
    headers: { Allow: allow },
  });
}

/**
 * Rejects every method that an Express route does not support.
 *
 * @param methods The supported methods, in lower case.
 * @throws {Problem} `method_not_allowed` with `Allow`.
 */
export function rejectOtherMethods(methods: readonly string[]): RequestHandler {
  const allow = allowHeader(methods);
  return (req) => {
    throw methodNotAllowedProblem(req.method, allow);
  };
}

/** Serves a path with a handler for GET and HEAD, and rejects other methods. */
export function serveGetOnly(router: Router, path: string, handler: RequestHandler): void {
  router
    .route(path)
    .get(handler)
    .all(rejectOtherMethods(["get"]));
}
