import type { Express, Router } from "express";

/** A method that the application serves at a path. */
export interface ServedRoute {
  /** In upper case; `*` for any method. */
  readonly method: string;
  /** As Express writes it, with `:name` for a variable segment. */
  readonly path: string;
}

/** What Express 5.3 reports about a router; its published types lack it. */
interface Listing {
  readonly path: string | RegExp;
  readonly methods: readonly string[] | undefined;
  readonly router: Router | undefined;
}

/** Everything that an application serves, including nested routers, in matching order. */
export function routesOf(app: Express): readonly ServedRoute[] {
  return routesBelow(app.router, "");
}

function routesBelow(router: Router, prefix: string): readonly ServedRoute[] {
  const { listRoutes } = router as Router & { listRoutes(): readonly Listing[] };
  return listRoutes.call(router).flatMap(({ path, methods = [], router: nested }) => {
    const full = joined(prefix, String(path));
    if (nested !== undefined) return routesBelow(nested, full);
    return named(methods).map((method) => ({ method, path: full }));
  });
}

/**
 * Omits HEAD, which Express adds to every GET, and `*` beside other methods, which is the handler that
 * rejects the rest.
 */
function named(methods: readonly string[]): readonly string[] {
  const own = methods.filter(
    (method) => method !== "*" && !(method === "HEAD" && methods.includes("GET")),
  );
  return own.length > 0 ? own : ["*"];
}

/** A router mounted at the root adds no prefix to its paths. */
function joined(prefix: string, path: string): string {
  if (prefix === "" || prefix === "/") return path;
  return path === "/" ? prefix : prefix + path;
}
