import { documents } from "../../wellknown/index.ts";
import { paths } from "../../wellknown/paths.ts";
import type { RequestContext } from "./request-context.ts";

/** Metadata documents of the authorization server. */
const metadata: readonly string[] = [
  paths.authorizationServer,
  paths.openidConfiguration,
  paths.jwks,
];

/** Paths that pages of any origin may only read. */
const readable: ReadonlySet<string> = new Set([
  ...documents.map(({ path }) => path),
  ...metadata,
  paths.userInfo,
]);

/** Paths to which pages of any origin may send requests. */
const sendable: ReadonlySet<string> = new Set([
  paths.register,
  paths.token,
  paths.revoke,
  paths.claim,
  paths.claimStart,
  paths.mcp,
]);

const openTo = (methods: string) => ({
  "access-control-allow-origin": "*",
  "access-control-allow-methods": methods,
  // Browser-based MCP clients send their protocol version with every request.
  "access-control-allow-headers":
    "Authorization, Content-Type, Idempotency-Key, If-None-Match, Last-Event-ID, MCP-Protocol-Version, Mcp-Method, Mcp-Name, X-Api-Key",
  "access-control-expose-headers":
    "ETag, Link, Location, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate",
});

/** CORS headers by what a path allows. */
const CORS_HEADERS = {
  GET: openTo("GET"),
  POST: openTo("POST"),
  REST: openTo("GET, POST, PATCH, DELETE"),
  RECORD: openTo("GET, PUT, DELETE"),
} as const;

/** Forms of this site, which pages of other sites must not submit. */
const personal: ReadonlySet<string> = new Set(["/api/apply", paths.contact]);

/** What pages of any origin may do at a path; nothing where cookies authenticate. */
function policyFor(path: string): keyof typeof CORS_HEADERS | undefined {
  if (readable.has(path)) return "GET";
  if (sendable.has(path)) return "POST";
  if (path.startsWith("/api/")) return personal.has(path) ? undefined : "REST";
  return path.startsWith(`${paths.register}/`) ? "RECORD" : undefined;
}

/**
 * Opens the documents, the API and the token endpoints to web pages of any origin, and answers
 * preflight requests (CORS). These paths ignore cookies, and credentials mode is not allowed.
 *
 * @returns Whether the request was a preflight request and has been answered.
 */
export function applyCors({ req, res, path }: RequestContext): boolean {
  const { method, headers } = req;
  const policy = policyFor(path);
  if (policy === undefined) return false;
  // A request without `Origin` does not come from a page.
  if (policy === "GET" || headers.origin !== undefined) {
    for (const [name, value] of Object.entries(CORS_HEADERS[policy])) res.setHeader(name, value);
  }
  if (method === "OPTIONS") {
    res.setHeader("access-control-max-age", "3600");
    res.writeHead(204).end();
    return true;
  }
  const isRead = method === "GET" || method === "HEAD";
  if (isRead && metadata.includes(path)) res.setHeader("cache-control", "public, max-age=300");
  return false;
}
