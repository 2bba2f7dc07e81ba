import type { RequestHandler, Router } from "express";
import { Problem } from "../problem.ts";

/**
 * Answers every method that a known address does not have.
 *
 * @param methods Those it has, in lower case; GET brings HEAD along.
 * @throws {Problem} `method_not_allowed` with `Allow`.
 */
export function onlyMethods(methods: readonly string[]): RequestHandler {
  const allow = methods.join(", ").toUpperCase().replace("GET", "GET, HEAD");
  return (req) => {
    throw new Problem("method_not_allowed", {
      detail: `${req.method} is not possible here.`,
      next: `Use ${allow}.`,
      headers: { Allow: allow },
    });
  };
}

/** Serves an address that is only to be read: every other method is refused. */
export function serveReading(router: Router, path: string, handler: RequestHandler): void {
  router
    .route(path)
    .get(handler)
    .all(onlyMethods(["get"]));
}
