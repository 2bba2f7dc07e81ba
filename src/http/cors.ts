import { discoveryDocuments } from "../../wellknown/index.ts";
import type { Operation } from "../openapi/operation.ts";
import { allOperations } from "../openapi/operations/all-operations.ts";
import type { RequestContext } from "./request-context.ts";

/**
 * Prefix of all API paths. They share one CORS policy, so that pages of other origins can also read
 * a 404 response.
 */
const API = "/api/";

/** HTTP methods in the order in which `Access-Control-Allow-Methods` lists them. */
const METHODS = ["get", "post", "put", "patch", "delete"] as const;

const operations = allOperations(discoveryDocuments);

/** A path up to its first variable. */
const prefixOf = ({ path }: Operation): string => path.replace(/\{.*/, "");

/**
 * The value of `Access-Control-Allow-Methods` by path or, for paths with a variable, by the prefix
 * before the variable. The value is empty for paths that authenticate with cookies, because other
 * origins may not use them.
 */
const policies: ReadonlyMap<string, string> = new Map(
  [
    ...Map.groupBy(operations, (operation) =>
      operation.allowsAnyOrigin && operation.path.startsWith(API) ? API : prefixOf(operation),
    ),
  ].map(([path, group]) => {
    const open = group.filter(({ allowsAnyOrigin }) => allowsAnyOrigin);
    const methods = METHODS.filter((method) => open.some((one) => one.method === method));
    return [path, methods.join(", ").toUpperCase()];
  }),
);

/**
 * Prefixes that match paths of any depth: API paths, which share one policy, and paths whose
 * variable contains slashes.
 */
const TREES = [API, ...operations.filter(({ takesRest }) => takesRest).map(prefixOf)];

function policyFor(path: string): string | undefined {
  const tree = TREES.find((one) => path.startsWith(one));
  const folder = tree ?? path.slice(0, path.lastIndexOf("/") + 1);
  return policies.get(path) ?? policies.get(folder);
}

/** Headers of every path that other origins may use. Browser-based MCP clients send their protocol
 *  version with every request. */
const SHARED_HEADERS = {
  "access-control-allow-origin": "*",
  "access-control-allow-headers":
    "Authorization, Content-Type, Idempotency-Key, If-None-Match, Last-Event-ID, MCP-Protocol-Version, Mcp-Method, Mcp-Name, X-Api-Key",
  "access-control-expose-headers":
    "ETag, Link, Location, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate",
} as const;

/**
 * Allows web pages of any origin to use the documents, the API and the token endpoints, and answers
 * preflight requests (CORS). These paths ignore cookies, and `Access-Control-Allow-Credentials` is
 * never sent.
 *
 * @returns Whether the request was a preflight request and has been answered.
 */
export function applyCors({ req, res, path }: RequestContext): boolean {
  const { method, headers } = req;
  const methods = policyFor(path);
  if (!methods) return false;
  // Pages of other origins always send `Origin`. On paths that allow only GET, requests without
  // `Origin` get the headers too, because shared caches store one response for requests with and
  // without `Origin`.
  if (methods === "GET" || headers.origin !== undefined) {
    res.setHeader("access-control-allow-methods", methods);
    for (const [name, value] of Object.entries(SHARED_HEADERS)) res.setHeader(name, value);
  }
  if (method !== "OPTIONS") return false;
  res.setHeader("access-control-max-age", "3600");
  res.writeHead(204).end();
  return true;
}
