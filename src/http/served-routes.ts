import type { Express, Router } from "express";

/** A method and path that the HTTP server serves. */
export interface ServedRoute {
  /** HTTP method in upper case; `*` for any method. */
  readonly method: string;
  /** Path in the syntax of Express, with `:name` for a variable segment. */
  readonly path: string;
}

/** The properties that Express 5.3 reports for a route; its published types do not include them. */
interface ListedRoute {
  readonly path: string | RegExp;
  readonly methods: readonly string[] | undefined;
  readonly router: Router | undefined;
}

/** Lists every route of an Express app, including nested routers, in matching order. */
export function routesOf(app: Express): readonly ServedRoute[] {
  return routesBelow(app.router, "");
}

function routesBelow(router: Router, prefix: string): readonly ServedRoute[] {
  const { listRoutes } = router as Router & { listRoutes(): readonly ListedRoute[] };
  return listRoutes.call(router).flatMap(({ path, methods = [], router: nested }) => {
    const full = joinPaths(prefix, String(path));
    if (nested !== undefined) return routesBelow(nested, full);
    return ownMethods(methods).map((method) => ({ method, path: full }));
  });
}

/**
 * The methods that a route handles itself. HEAD is omitted, because Express adds it to every GET.
 * `*` next to other methods is omitted too, because it stands for the handler that rejects all
 * other methods.
 */
function ownMethods(methods: readonly string[]): readonly string[] {
  const own = methods.filter(
    (method) => method !== "*" && !(method === "HEAD" && methods.includes("GET")),
  );
  return own.length > 0 ? own : ["*"];
}

/** Joins a router's prefix and a path. A router mounted at the root adds no prefix. */
function joinPaths(prefix: string, path: string): string {
  if (prefix === "" || prefix === "/") return path;
  return path === "/" ? prefix : prefix + path;
}
