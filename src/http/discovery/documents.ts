import { createHash } from "node:crypto";
import { type Request, type RequestHandler, Router } from "express";
import { type DiscoveryDocument, documents } from "../../../wellknown/index.ts";
import { paths } from "../../../wellknown/paths.ts";
import type { Site } from "../../../wellknown/site.ts";
import { isKnown } from "../../lib/etag.ts";
import { memoByVersion } from "../../lib/memo.ts";
import { onlyMethods } from "../allowed-methods.ts";
import { linkHeader } from "./link-headers.ts";

const DAY_MS = 86_400_000;

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/**
 * Serves the discovery documents, as bytes that are made once a day, when somebody asks: only the end
 * of security.txt depends on the day.
 */
export function discoveryRouter(site: Site, now: () => Date): Router {
  // An address with a slash at its end is another one, that nobody was told.
  const router = Router({ strict: true });
  const today = () => Math.floor(now().getTime() / DAY_MS);
  for (const document of documents) {
    const current = memoByVersion(today, () => renderingOf(document, site, now()));
    router
      .route(document.path)
      .get(headersOf(document, site), (req, res) => {
        const type = typeFor(req, document);
        const { bytes, etags } = current();
        const etag = etags.get(type) ?? "";
        res.set("etag", etag);
        if (isKnown(req, etag)) return void res.status(304).end();
        // Express would add a charset, which JSON and a profile do not have.
        res.setHeader("content-type", type);
        res.send(bytes);
      })
      .all(onlyMethods(["get"]));
  }
  return router;
}

/** A document as it is sent, with its validator by media type. */
interface Rendering {
  readonly bytes: Buffer;
  readonly etags: ReadonlyMap<string, string>;
}

function renderingOf(document: DiscoveryDocument, site: Site, today: Date): Rendering {
  const content = document.render(site, { today, sha256 });
  const text = typeof content === "string" ? content : JSON.stringify(content);
  // Two types of one document are two representations (RFC 9110 section 8.8.1).
  const etags = document.mediaTypes.map(
    (type) => [type, `"${sha256(`${type}\n${text}`)}"`] as const,
  );
  return { bytes: Buffer.from(text), etags: new Map(etags) };
}

function headersOf(document: DiscoveryDocument, site: Site): RequestHandler {
  const { mediaTypes, maxAgeSeconds, links } = document;
  const headers = {
    "cache-control": `public, max-age=${maxAgeSeconds}`,
    ...(mediaTypes.length > 1 && { vary: "Accept" }),
    ...(links && { link: linkHeader(links(site)) }),
  };
  return (_req, res, next) => {
    res.set(headers);
    next();
  };
}

/** Whoever accepts none of them gets the first: a document is better than a refusal. */
function typeFor(req: Request, { mediaTypes }: DiscoveryDocument): string {
  const [usual, ...others] = mediaTypes;
  return (others.length > 0 && req.accepts([...mediaTypes])) || usual;
}

/** What the authorization server serves for anyone to read. */
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
  ...[paths.register, paths.token, paths.revoke],
  ...[paths.claim, paths.claimStart, paths.mcp],
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
const OPEN_TO_PAGES = {
  GET: openTo("GET"),
  POST: openTo("POST"),
  REST: openTo("GET, POST, PATCH, DELETE"),
  RECORD: openTo("GET, PUT, DELETE"),
} as const;

/** What people send from the pages of this site, and a stranger's page must not send for them. */
const personal: ReadonlySet<string> = new Set(["/api/apply", paths.contact]);

/** What pages of any origin may do at a path; nothing where a cookie counts. */
function openedAt(path: string): keyof typeof OPEN_TO_PAGES | undefined {
  if (readable.has(path)) return "GET";
  if (sendable.has(path)) return "POST";
  if (path.startsWith("/api/")) return personal.has(path) ? undefined : "REST";
  return path.startsWith(`${paths.register}/`) ? "RECORD" : undefined;
}

/**
 * Opens the documents, the API and what programs need for a token to web pages of any origin, and
 * answers what a browser asks beforehand (CORS). No cookie counts there, and none is let through. To
 * be mounted before whatever serves them.
 */
export const openToPages: RequestHandler = (req, res, next) => {
  const opened = openedAt(req.path);
  if (opened === undefined) return next();
  // Without an Origin no page asks; reads and tokens without one are answered before Express.
  if (opened === "GET" || req.headers.origin !== undefined) res.set(OPEN_TO_PAGES[opened]);
  if (req.method === "OPTIONS") {
    res.set("access-control-max-age", "3600").status(204).end();
    return;
  }
  const isRead = req.method === "GET" || req.method === "HEAD";
  if (isRead && metadata.includes(req.path)) res.set("cache-control", "public, max-age=300");
  next();
};
