import { type Request, type RequestHandler, type Response, Router } from "express";
import { documents } from "../../../wellknown/index.ts";
import { paths } from "../../../wellknown/paths.ts";
import type { Site } from "../../../wellknown/site.ts";
import { strongEtag } from "../../lib/etag.ts";
import { memo } from "../../lib/memo.ts";
import { type Operation, type Tag, tags } from "../../openapi/operation.ts";
import { operationsWith } from "../../openapi/operations/all-operations.ts";
import type { DocumentRoute } from "../../openapi/operations/documents.ts";
import { referenceMarkdown } from "../../openapi/reference-markdown.ts";
import { serveReading } from "../allowed-methods.ts";
import { MEDIA_TYPES, type Representation, sendRepresentation } from "../conditional-response.ts";
import { notFound } from "../errors.ts";
import { MARKDOWN_TYPE, prefersMarkdown } from "../markdown.ts";
import { type Html, html } from "../pages/html.ts";
import { redirectToPublicOrigin } from "../pages/public-origin.ts";
import { styleAddress } from "../pages/style-route.ts";
import { type Asset, assetAddress, readAssets } from "./assets.ts";
import {
  MARKDOWN_PATH,
  oauthRedirectPage,
  REDIRECT_PATH,
  referencePage,
} from "./reference-page.ts";

const ASSETS = `${paths.reference}/assets`;

/**
 * Content security policy of the reference page. Swagger UI needs no inline styles: it sets styles
 * through the CSSOM, which the policy does not restrict.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const PAGE_HEADERS = {
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
} as const;

/** Cache lifetime of the page and its Markdown, equal to that of the other documents. */
const TEXT_HEADERS = { "cache-control": "public, max-age=300", vary: "Accept" } as const;

/** GET /docs/api: the API reference as a page or as Markdown, with its assets. Everything is
 *  rendered at the first request. */
export function apiDocsRouter(site: Site): Router {
  const assets = memo(readAssets);
  const page = memo(() => representationOf(MEDIA_TYPES.html, pageText(site, assets())));
  const redirect = memo(() => representationOf(MEDIA_TYPES.html, redirectText(site, assets())));
  const markdown = memo(() => representationOf(MARKDOWN_TYPE, referenceMarkdown(site, documents)));

  const router = Router();
  serveReading(router, paths.reference, (req, res) => {
    if (prefersMarkdown(req)) return send(req, res, markdown());
    const wrong = isBrowser(req) ? redirectToPublicOrigin(req, site.baseUrl) : undefined;
    if (wrong === undefined) return send(req, res, page());
    res.set({ ...wrong.headers, "cache-control": "no-store" });
    res.status(303).end();
  });
  serveReading(router, MARKDOWN_PATH, (req, res) => send(req, res, markdown()));
  serveReading(router, REDIRECT_PATH, (req, res) => send(req, res, redirect()));
  serveReading(router, `${ASSETS}/:name`, serveAsset(assets));
  return router;
}

function pageText(site: Site, assets: ReadonlyMap<string, Asset>): string {
  const address = assetAddress(assets, ASSETS);
  const parts = {
    styles: [styleAddress, address("swagger-ui.css"), address("reference.css")],
    scripts: (["swagger-ui-bundle.js", "accessible.js", "start.js"] as const).map(address),
  };
  return referencePage(site, parts, operationSummary(documents)).toString();
}

function redirectText(site: Site, assets: ReadonlyMap<string, Asset>): string {
  const scripts = [assetAddress(assets, ASSETS)("signed-in.js")];
  return oauthRedirectPage(site, { styles: [styleAddress], scripts }).toString();
}

/** Whether a client is a browser. Programs that accept anything are not redirected to the public
 *  origin, since they keep no cookies. */
const isBrowser = ({ headers }: Request): boolean => headers.accept?.includes("text/html") === true;

const representationOf = (type: string, body: string): Representation => ({
  type,
  body,
  etag: strongEtag(body),
});

function send(req: Request, res: Response, text: Representation): Promise<void> {
  res.set(text.type === MEDIA_TYPES.html ? PAGE_HEADERS : {}).set(TEXT_HEADERS);
  return sendRepresentation(req, res, text);
}

function serveAsset(assets: () => ReadonlyMap<string, Asset>): RequestHandler {
  return (req, res, next) => {
    const asset = assets().get(String(req.params.name));
    if (asset === undefined) return notFound(req, res, next);
    res.set(headersOf(asset, req));
    const { bytes: body, digest, type } = asset;
    return sendRepresentation(req, res, { type: MEDIA_TYPES[type], body, etag: `"${digest}"` });
  };
}

/** Headers of an asset. A URL with the asset's digest always returns the same content. */
const headersOf = ({ digest }: Asset, { query }: Request) => ({
  "cache-control": query.v === digest ? "public, max-age=31536000, immutable" : "no-cache",
  "cross-origin-resource-policy": "same-origin",
});

/** One line per operation, by group; shown until the reference has loaded. */
function operationSummary(documents: readonly DocumentRoute[]): Html {
  const groups = Object.groupBy(operationsWith(documents), ({ tag }) => tag);
  return html`${Object.keys(tags).map((tag) => section(tag as Tag, groups[tag as Tag] ?? []))}`;
}

const section = (tag: Tag, operations: readonly Operation[]): Html => html`<section>
<h2>${tag}</h2>
<p class="quiet">${tags[tag]}</p>
<ul class="operations">${operations.map(
  ({ method, path, summary }) =>
    html`<li><code>${method.toUpperCase()} ${path}</code> ${summary}</li>`,
)}</ul>
</section>
`;
