import { OPENAPI_TYPE, paths } from "../../../wellknown/paths.ts";
import type { Site } from "../../../wellknown/site.ts";
import { type Html, html } from "../pages/html.ts";

/** URLs of the page's assets. */
export interface ReferenceAssets {
  readonly styles: readonly string[];
  readonly scripts: readonly string[];
}

/** Path of the Markdown version, for clients that cannot set `Accept`. */
export const MARKDOWN_PATH = `${paths.reference}.md`;

/** Redirect URI of the page's OAuth client. */
export const REDIRECT_PATH = `${paths.reference}/oauth2-redirect.html`;

/**
 * The API reference page. A summary is shown until the script has loaded the reference, and permanently
 * without JavaScript.
 */
export function referencePage(site: Site, assets: ReferenceAssets, summary: Html): Html {
  const { name } = site;
  return html`${start("API reference", site, assets)}
<header class="top">
<p class="brand"><a href="${paths.home}">${name}</a></p>
<nav aria-label="Other forms"><a href="${MARKDOWN_PATH}">Markdown</a> <a href="${paths.openapi}">OpenAPI</a></nav>
</header>
<div id="reference" data-document="${paths.openapi}" data-redirect="${REDIRECT_PATH}"></div>
<main id="summary">
<h1>API reference</h1>
<p class="lead">Every operation of this service. Not investment advice.</p>
<noscript><p>Trying them here requires JavaScript. The <a href="${MARKDOWN_PATH}">Markdown reference</a> does not, and says more.</p></noscript>
${summary}</main>
<footer><p>All times are in UTC.</p></footer>
</body>
</html>
`;
}

/**
 * The redirect target of the OAuth flow: it passes the response to the reference and closes its window
 * if it can.
 */
export function oauthRedirectPage(site: Site, assets: ReferenceAssets): Html {
  return html`${start("Signed in", site, assets)}
<main>
<h1>Back to the API reference</h1>
<p>The API reference has received the response. You can close this window.</p>
</main>
</body>
</html>
`;
}

function start(title: string, { name }: Site, { styles, scripts }: ReferenceAssets): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${title} – ${name}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="service-desc" type="${OPENAPI_TYPE}" href="${paths.openapi}">
<link rel="alternate" type="text/markdown" href="${MARKDOWN_PATH}">
${styles.map((href) => html`<link rel="stylesheet" href="${href}">`)}
${scripts.map((src) => html`<script defer src="${src}"></script>`)}
</head>
<body>`;
}
