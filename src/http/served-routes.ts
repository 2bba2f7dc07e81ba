import type { Express, Router } from "express";

/** A method that the application answers at a path. */
export interface ServedRoute {
  /** In upper case; `*` where a path takes whatever comes. */
  readonly method: string;
  /** As Express writes it, with `:name` for a part that varies. */
  readonly path: string;
}

/** What Express 5.3 tells of a router; its published types do not know it yet. */
interface Listing {
  readonly path: string | RegExp;
  readonly methods: readonly string[] | undefined;
  readonly router: Router | undefined;
}

/** Everything that an application serves, also below nested routers, in the order it is matched. */
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

/** Without what says nothing: Express adds HEAD to every GET, and `*` beside others is what refuses
 *  the rest. */
function named(methods: readonly string[]): readonly string[] {
  const own = methods.filter(
    (method) => method !== "*" && !(method === "HEAD" && methods.includes("GET")),
  );
  return own.length > 0 ? own : ["*"];
}

/** A router mounted at the root adds nothing to its paths. */
function joined(prefix: string, path: string): string {
  if (prefix === "" || prefix === "/") return path;
  return path === "/" ? prefix : prefix + path;
}
