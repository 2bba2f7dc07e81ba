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
        if (matchesEtag(req, etag)) return void res.status(304).end();
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

/**
 * GET /.well-known/webhook-keys.json: what the `v1a` signatures of deliveries are verified with;
 * readable from any web page, cacheable for five minutes.
 *
 * @param keys The set of the moment; keys are rotated while the service runs.
 */
export function webhookKeysRouter(keys: () => WebhookKeySet): Router {
  const router = Router();
  serveReading(router, paths.webhookKeys, (_req, res) => {
    res
      .set({ "access-control-allow-origin": "*", "cache-control": "public, max-age=300" })
      .json(keys());
  });
  return router;
}
