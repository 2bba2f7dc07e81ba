import { createHash } from "node:crypto";
import { type Request, type RequestHandler, Router } from "express";
import { type DiscoveryDocument, discoveryDocuments } from "../../../wellknown/index.ts";
import type { WebhookKeySet } from "../../alerts/delivery/webhook-keys.ts";
import type { Site } from "../../answers/site.ts";
import { DAY_MS } from "../../lib/day.ts";
import { memoByVersion } from "../../lib/memo.ts";
import { paths } from "../../lib/paths.ts";
import { rejectOtherMethods, serveGetOnly } from "../allowed-methods.ts";
import { type Representation, sendRepresentation } from "../send-response.ts";
import { linkHeader } from "./link-headers.ts";

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/**
 * Serves the discovery documents. They are rendered at the first request of each day, because the
 * expiry date of security.txt depends on the day.
 */
export function discoveryRouter(site: Site, now: () => Date): Router {
  // A path with a trailing slash is a different path, at which nothing is published.
  const router = Router({ strict: true });
  const today = () => Math.floor(now().getTime() / DAY_MS);
  for (const document of discoveryDocuments) {
    const current = memoByVersion(today, () => renderDocument(document, site, now()));
    router
      .route(document.path)
      .get(headersOf(document, site), (req, res) => {
        return sendRepresentation(req, res, current()[typeFor(req, document)] as Representation);
      })
      .all(rejectOtherMethods(["get"]));
  }
  return router;
}

/** A rendered document by media type; each type is a representation with its own validator (RFC
 *  9110 section 8.8.1). */
type Rendering = Readonly<Record<string, Representation>>;

function renderDocument(document: DiscoveryDocument, site: Site, today: Date): Rendering {
  const content = document.render(site, { today, sha256 });
  const text = typeof content === "string" ? content : JSON.stringify(content);
  const body = Buffer.from(text);
  return Object.fromEntries(
    document.mediaTypes.map((type) => {
      const etag = `"${sha256(`${type}\n${text}`)}"`;
      return [type, { type, body, etag }];
    }),
  );
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

/**
 * The media type of the response. Clients that accept none of the types get the first one, because
 * a document is more useful than a 406 response.
 */
function typeFor(req: Request, { mediaTypes }: DiscoveryDocument): string {
  const [usual, ...others] = mediaTypes;
  return (others.length > 0 && req.accepts([...mediaTypes])) || usual;
}

/**
 * GET /.well-known/webhook-keys.json: the public keys of the `v1a` webhook signatures; cacheable
 * for five minutes.
 *
 * @param keys Returns the current set; keys are rotated while the service runs.
 */
export function webhookKeysRouter(keys: () => WebhookKeySet): Router {
  const router = Router();
  serveGetOnly(router, paths.webhookKeys, (_req, res) => {
    res.set("cache-control", "public, max-age=300").json(keys());
  });
  return router;
}
