import type { RenderContext, Site } from "../src/answers/site.ts";
import { OPENAPI_MEDIA_TYPE, paths, SERVER_CARD_MEDIA_TYPE, skillPath } from "../src/lib/paths.ts";
import { openApiDocument } from "../src/openapi/document.ts";
import { skillMarkdown } from "./agent-skills/skill.ts";
import { skills, skillsIndex } from "./agent-skills/skills.ts";
import { aiCatalog } from "./ai-catalog.ts";
import { API_CATALOG_MEDIA_TYPE, apiCatalog } from "./api-catalog.ts";
import { authMd } from "./auth-md.ts";
import { ICON_MEDIA_TYPE, iconSvg } from "./icon.ts";
import type { SiteLink } from "./links.ts";
import { llmsTxt } from "./llms.ts";
import { openbbApps } from "./openbb-apps.ts";
import { openbbWidgets } from "./openbb-widgets.ts";
import { protectedResourceMetadata } from "./protected-resource-metadata.ts";
import { robotsTxt } from "./robots.ts";
import { securityTxt } from "./security-txt.ts";
import { serverCard } from "./server-card.ts";
import { sitemap } from "./sitemap.ts";

/** A discovery document. Each document is rendered by its own module, even if it is short. */
export interface DiscoveryDocument {
  readonly path: `/${string}`;
  /** Media types of the document; the first is sent unless the client prefers another. */
  readonly mediaTypes: readonly [string, ...string[]];
  /** `max-age` of the document's Cache-Control header, in seconds. */
  readonly maxAgeSeconds: number;
  /** Links in the document's `Link` header. */
  readonly links?: (site: Site) => readonly SiteLink[];
  /** Renders the document; an object is sent as JSON, a string as text. */
  readonly render: (site: Site, means: RenderContext) => object | string;
}

const FIVE_MINUTES = 300;

const JSON_TYPE = "application/json";
const MARKDOWN = "text/markdown; charset=utf-8";
const TEXT = "text/plain; charset=utf-8";

/** The server card, which is served at two paths (SEP-2127 recommends caching for an hour). */
const card = { maxAgeSeconds: 3600, render: serverCard };

/** The discovery documents, except those that the authorization server serves. */
export const discoveryDocuments: readonly DiscoveryDocument[] = [
  {
    path: paths.protectedResource,
    mediaTypes: [JSON_TYPE],
    maxAgeSeconds: FIVE_MINUTES,
    render: (site) => protectedResourceMetadata(site, site.baseUrl),
  },
  {
    path: paths.mcpProtectedResource,
    mediaTypes: [JSON_TYPE],
    maxAgeSeconds: FIVE_MINUTES,
    render: (site) => protectedResourceMetadata(site, site.baseUrl + paths.mcp),
  },
  { path: paths.serverCard, mediaTypes: [JSON_TYPE, SERVER_CARD_MEDIA_TYPE], ...card },
  { path: paths.mcpServerCard, mediaTypes: [SERVER_CARD_MEDIA_TYPE, JSON_TYPE], ...card },
  {
    path: paths.aiCatalog,
    mediaTypes: [JSON_TYPE, "application/ai-catalog+json"],
    maxAgeSeconds: FIVE_MINUTES,
    render: aiCatalog,
  },
  {
    path: paths.apiCatalog,
    mediaTypes: [API_CATALOG_MEDIA_TYPE],
    maxAgeSeconds: FIVE_MINUTES,
    links: ({ baseUrl }) => [{ href: baseUrl + paths.apiCatalog, rel: "api-catalog" }],
    render: apiCatalog,
  },
  {
    path: paths.skillsIndex,
    mediaTypes: [JSON_TYPE],
    maxAgeSeconds: FIVE_MINUTES,
    render: skillsIndex,
  },
  ...skills.map((skill) => ({
    path: skillPath(skill.name),
    mediaTypes: [MARKDOWN] as const,
    maxAgeSeconds: FIVE_MINUTES,
    render: (site: Site) => skillMarkdown(skill, site),
  })),
  {
    path: paths.openapi,
    mediaTypes: [OPENAPI_MEDIA_TYPE, JSON_TYPE],
    maxAgeSeconds: FIVE_MINUTES,
    render: (site) => openApiDocument(site, discoveryDocuments),
  },
  {
    path: paths.openbbWidgets,
    mediaTypes: [JSON_TYPE],
    maxAgeSeconds: FIVE_MINUTES,
    render: openbbWidgets,
  },
  {
    path: paths.openbbApps,
    mediaTypes: [JSON_TYPE],
    maxAgeSeconds: FIVE_MINUTES,
    render: openbbApps,
  },
  { path: paths.authMd, mediaTypes: [MARKDOWN], maxAgeSeconds: FIVE_MINUTES, render: authMd },
  { path: paths.llms, mediaTypes: [TEXT], maxAgeSeconds: FIVE_MINUTES, render: llmsTxt },
  { path: paths.robots, mediaTypes: [TEXT], maxAgeSeconds: FIVE_MINUTES, render: robotsTxt },
  {
    path: paths.sitemap,
    mediaTypes: ["application/xml; charset=utf-8"],
    maxAgeSeconds: FIVE_MINUTES,
    render: sitemap,
  },
  { path: paths.securityTxt, mediaTypes: [TEXT], maxAgeSeconds: FIVE_MINUTES, render: securityTxt },
  {
    path: paths.icon,
    mediaTypes: [ICON_MEDIA_TYPE],
    maxAgeSeconds: FIVE_MINUTES,
    render: () => iconSvg,
  },
];
