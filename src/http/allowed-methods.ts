import type { RequestHandler, Router } from "express";
import { Problem } from "../problem.ts";

/** Value of the header `Allow` for some methods; GET includes HEAD. */
export const allowOf = (methods: readonly string[]): string =>
  methods.join(", ").toUpperCase().replace("GET", "GET, HEAD");

/** The problem of a method that a path does not have. @param allow Value of the header `Allow`. */
export function methodNotAllowed(method: string | undefined, allow: string): Problem {
  return new Problem("method_not_allowed", {
    detail: `${method} is not possible here.`,
    next: `Use ${allow}.`,
    headers: { Allow: allow },
  });
}

/**
 * Refuses every method that a route of Express does not have.
 *
 * @param methods Those it has, in lower case.
 * @throws {Problem} `method_not_allowed` with `Allow`.
 */
export function onlyMethods(methods: readonly string[]): RequestHandler {
  const allow = allowOf(methods);
  return (req) => {
    throw methodNotAllowed(req.method, allow);
  };
}

/** Serves a path with GET and HEAD alone. */
export function serveReading(router: Router, path: string, handler: RequestHandler): void {
  router
    .route(path)
    .get(handler)
    .all(onlyMethods(["get"]));
}
