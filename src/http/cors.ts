import { documents } from "../../wellknown/index.ts";
import { paths } from "../../wellknown/paths.ts";
import type { RequestContext } from "./request-context.ts";

/** Documents that the authorization server publishes. */
const metadata: readonly string[] = [
  paths.authorizationServer,
  paths.openidConfiguration,
  paths.jwks,
];

/** What pages of any origin may only read. */
const readable: ReadonlySet<string> = new Set([
  ...documents.map(({ path }) => path),
  ...metadata,
  paths.userInfo,
]);

/** What pages of any origin may send to. */
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
  // MCP clients in a browser name their protocol version wherever they ask.
  "access-control-allow-headers":
    "Authorization, Content-Type, Idempotency-Key, If-None-Match, Last-Event-ID, MCP-Protocol-Version, Mcp-Method, Mcp-Name, X-Api-Key",
  "access-control-expose-headers":
    "ETag, Link, Location, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate",
});

/** Headers of what is open to pages of any origin, by what can be done there. */
const CORS_HEADERS = {
  GET: openTo("GET"),
  POST: openTo("POST"),
  REST: openTo("GET, POST, PATCH, DELETE"),
  RECORD: openTo("GET, PUT, DELETE"),
} as const;

/** What people send from the pages of this site, and the page of another must not send for them. */
const personal: ReadonlySet<string> = new Set(["/api/apply", paths.contact]);

/** What pages of any origin may do at a path; nothing where a cookie counts. */
function policyFor(path: string): keyof typeof CORS_HEADERS | undefined {
  if (readable.has(path)) return "GET";
  if (sendable.has(path)) return "POST";
  if (path.startsWith("/api/")) return personal.has(path) ? undefined : "REST";
  return path.startsWith(`${paths.register}/`) ? "RECORD" : undefined;
}

/**
 * Opens the documents, the API and what programs need for a token to web pages of any origin, and
 * answers preflight requests (CORS). No cookie counts there, and none is let through.
 *
 * @returns Whether the request was a preflight request, and is answered.
 */
export function applyCors({ req, res, path }: RequestContext): boolean {
  const { method, headers } = req;
  const policy = policyFor(path);
  if (policy === undefined) return false;
  // A request without an Origin comes from no page.
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
