import { createHash } from "node:crypto";
import { type Request, type RequestHandler, Router } from "express";
import { type DiscoveryDocument, documents } from "../../../wellknown/index.ts";
import { paths } from "../../../wellknown/paths.ts";
import type { Site } from "../../../wellknown/site.ts";
import type { WebhookKeySet } from "../../alerts/delivery/webhook-keys.ts";
import { matchesEtag } from "../../lib/etag.ts";
import { memoByVersion } from "../../lib/memo.ts";
import { onlyMethods, serveReading } from "../allowed-methods.ts";
import { linkHeader } from "./link-headers.ts";

const DAY_MS = 86_400_000;

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** Serves the discovery documents. They are rendered at the first request and once a day, because
 *  the expiry date of security.txt depends on the day. */
export function discoveryRouter(site: Site, now: () => Date): Router {
  // A path with a trailing slash is a different path, which is not published.
  const router = Router({ strict: true });
  const today = () => Math.floor(now().getTime() / DAY_MS);
  for (const document of documents) {
    const current = memoByVersion(today, () => renderDocument(document, site, now()));
    router
      .route(document.path)
      .get(headersOf(document, site), (req, res) => {
        const type = typeFor(req, document);
        const { bytes, etags } = current();
        const etag = etags.get(type) ?? "";
        res.set("etag", etag);
        if (matchesEtag(req, etag)) return void res.status(304).end();
        // Express would add a charset, which JSON and Markdown profiles do not define.
        res.setHeader("content-type", type);
        res.send(bytes);
      })
      .all(onlyMethods(["get"]));
  }
  return router;
}

/** A rendered document, with an ETag per media type. */
interface Rendering {
  readonly bytes: Buffer;
  readonly etags: ReadonlyMap<string, string>;
}

function renderDocument(document: DiscoveryDocument, site: Site, today: Date): Rendering {
  const content = document.render(site, { today, sha256 });
  const text = typeof content === "string" ? content : JSON.stringify(content);
  // Two media types of one document are two representations (RFC 9110 section 8.8.1).
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

/** The media type of the response. Clients that accept none of the types get the first: a document
 *  is more useful than a 406. */
function typeFor(req: Request, { mediaTypes }: DiscoveryDocument): string {
  const [usual, ...others] = mediaTypes;
  return (others.length > 0 && req.accepts([...mediaTypes])) || usual;
}

/**
 * GET /.well-known/webhook-keys.json: the public keys of the `v1a` webhook signatures; cacheable for
 * five minutes.
 *
 * @param keys Returns the current set; keys are rotated while the service runs.
 */
export function webhookKeysRouter(keys: () => WebhookKeySet): Router {
  const router = Router();
  serveReading(router, paths.webhookKeys, (_req, res) => {
    res.set("cache-control", "public, max-age=300").json(keys());
  });
  return router;
}
