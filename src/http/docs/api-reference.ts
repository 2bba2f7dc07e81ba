import { readFileSync } from "node:fs";
import { type Request, type Response, Router } from "express";
import { discoveryDocuments } from "../../../wellknown/index.ts";
import type { Site } from "../../answers/site.ts";
import { strongEtag } from "../../lib/etag.ts";
import { memo } from "../../lib/memo.ts";
import { paths } from "../../lib/paths.ts";
import type { MarketView } from "../../market/market-view.ts";
import { openApiDocument } from "../../openapi/document.ts";
import { referenceMarkdown } from "../../openapi/reference-markdown.ts";
import { serveGetOnly } from "../allowed-methods.ts";
import { MARKDOWN_MEDIA_TYPE, prefersMarkdown } from "../markdown.ts";
import { createAsset } from "../pages/asset.ts";
import { layout, type Page } from "../pages/layout.ts";
import { CONTENT_SECURITY_POLICY, PAGE_HEADERS } from "../pages/page-answer.ts";
import { redirectToPublicOrigin } from "../pages/public-origin.ts";
import { styleHref } from "../pages/style-route.ts";
import { MEDIA_TYPES, type Representation, sendRepresentation } from "../send-response.ts";
import type { ApiDescription } from "./described.ts";
import {
  OAUTH_REDIRECT_PATH,
  oauthRedirectPage,
  REFERENCE_MARKDOWN_PATH,
  referencePage,
} from "./reference-page.ts";

const textOf = (name: string): string => readFileSync(new URL(name, import.meta.url), "utf8");

/**
 * The page's script: copy buttons and sending of requests. Each source file is wrapped in a block,
 * so that equal names in different files do not collide.
 */
const script = createAsset({
  path: "/assets/reference.js",
  type: "js",
  text: ["../pages/copy.js", "./reference.js"].map((name) => `{\n${textOf(name)}}\n`).join(""),
});

const redirectScript = createAsset({
  path: "/assets/signed-in.js",
  type: "js",
  text: textOf("./signed-in.js"),
});

const style = createAsset({
  path: "/assets/reference.css",
  type: "css",
  text: textOf("./reference.css"),
});

/**
 * Headers of the page and of its Markdown version. Shared caches may store both versions, because
 * everybody gets the same text. The page's script can send requests to this service only.
 */
const TEXT_HEADERS = { "cache-control": "public, max-age=300", vary: "Accept" } as const;
const HTML_HEADERS = {
  ...PAGE_HEADERS,
  "content-security-policy": `${CONTENT_SECURITY_POLICY}; script-src 'self'; connect-src 'self'`,
} as const;

/**
 * GET /docs/api: the API reference as a page or as Markdown, with its assets. Everything is
 * rendered at the first request.
 */
export function apiDocsRouter(site: Site, market: Pick<MarketView, "instruments">): Router {
  const pageOf = (page: Page) =>
    representationOf(
      MEDIA_TYPES.html,
      layout(page, { name: site.name, stylePath: styleHref }).toString(),
    );
  const page = memo(() => {
    const description = openApiDocument(site, discoveryDocuments) as unknown as ApiDescription;
    const assets = { stylePath: style.address, scriptPath: script.address };
    const isPublic = site.anonymousScopes.includes("signals:read");
    const symbols = isPublic ? market.instruments().map(({ symbol }) => symbol) : [];
    return pageOf(referencePage(description, assets, symbols));
  });
  const redirect = memo(() => pageOf(oauthRedirectPage(redirectScript.address)));
  const markdown = memo(() =>
    representationOf(MARKDOWN_MEDIA_TYPE, referenceMarkdown(site, discoveryDocuments)),
  );

  const router = Router();
  serveGetOnly(router, paths.reference, (req, res) => {
    if (prefersMarkdown(req)) return send(req, res, markdown());
    const wrong = isBrowser(req) ? redirectToPublicOrigin(req, site.baseUrl) : undefined;
    if (wrong === undefined) return send(req, res, page());
    res.set({ ...wrong.headers, "cache-control": "no-store" });
    res.status(303).end();
  });
  serveGetOnly(router, REFERENCE_MARKDOWN_PATH, (req, res) => send(req, res, markdown()));
  serveGetOnly(router, OAUTH_REDIRECT_PATH, (req, res) => send(req, res, redirect()));
  for (const asset of [script, redirectScript, style]) router.use(asset.route());
  return router;
}

/**
 * Whether a client is a browser. Other programs are not redirected to the public origin, because
 * they do not keep the cookie that prevents a redirect loop.
 */
const isBrowser = ({ headers }: Request): boolean => headers.accept?.includes("text/html") === true;

/** A text as bytes: to encode 590 kB for each visitor takes 3 ms (measured). */
const representationOf = (type: string, text: string): Representation => {
  const body = Buffer.from(text);
  return { type, body, etag: strongEtag(body) };
};

function send(req: Request, res: Response, text: Representation): Promise<void> {
  res.set(text.type === MEDIA_TYPES.html ? HTML_HEADERS : {}).set(TEXT_HEADERS);
  return sendRepresentation(req, res, text);
}
