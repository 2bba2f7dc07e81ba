import { z } from "zod";
import type { RenderContext, Site } from "../src/answers/site.ts";
import { OPENAPI_MEDIA_TYPE, paths, SERVER_CARD_MEDIA_TYPE, skillPath } from "../src/lib/paths.ts";
import { openApiDocument } from "../src/openapi/document.ts";
import type { DocumentRoute } from "../src/openapi/operations/documents.ts";
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
export interface DiscoveryDocument extends DocumentRoute {
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
    id: "get_protected_resource",
    path: paths.protectedResource,
    summary: "Metadata of the REST interface as a protected resource (RFC 9728)",
    mediaTypes: [JSON_TYPE],
    maxAgeSeconds: FIVE_MINUTES,
    render: (site) => protectedResourceMetadata(site, site.baseUrl),
  },
  {
    id: "get_mcp_protected_resource",
    path: paths.mcpProtectedResource,
    summary: "Metadata of the MCP endpoint as a protected resource (RFC 9728)",
    mediaTypes: [JSON_TYPE],
    maxAgeSeconds: FIVE_MINUTES,
    render: (site) => protectedResourceMetadata(site, site.baseUrl + paths.mcp),
  },
  {
    id: "get_server_card",
    path: paths.serverCard,
    summary: "Card of the MCP server (SEP-1649)",
    mediaTypes: [JSON_TYPE, SERVER_CARD_MEDIA_TYPE],
    ...card,
  },
  {
    id: "get_mcp_server_card",
    path: paths.mcpServerCard,
    summary: "Card of the MCP server (SEP-2127)",
    mediaTypes: [SERVER_CARD_MEDIA_TYPE, JSON_TYPE],
    ...card,
  },
  {
    id: "get_ai_catalog",
    path: paths.aiCatalog,
    summary: "AI catalog",
    mediaTypes: [JSON_TYPE, "application/ai-catalog+json"],
    maxAgeSeconds: FIVE_MINUTES,
    render: aiCatalog,
  },
  {
    id: "get_api_catalog",
    path: paths.apiCatalog,
    summary: "API catalog (RFC 9727)",
    mediaTypes: [API_CATALOG_MEDIA_TYPE],
    maxAgeSeconds: FIVE_MINUTES,
    links: ({ baseUrl }) => [{ href: baseUrl + paths.apiCatalog, rel: "api-catalog" }],
    render: apiCatalog,
  },
  {
    id: "get_agent_skills",
    path: paths.skillsIndex,
    summary: "Index of agent skills (Agent Skills Discovery 0.2.0)",
    mediaTypes: [JSON_TYPE],
    maxAgeSeconds: FIVE_MINUTES,
    render: skillsIndex,
  },
  ...skills.map((skill) => ({
    id: `get_skill_${skill.name.replaceAll("-", "_")}`,
    path: skillPath(skill.name),
    summary: `The skill ${skill.name}`,
    mediaTypes: [MARKDOWN] as const,
    maxAgeSeconds: FIVE_MINUTES,
    render: (site: Site) => skillMarkdown(skill, site),
  })),
  {
    id: "get_openapi",
    path: paths.openapi,
    summary: "This description (OpenAPI 3.1)",
    mediaTypes: [OPENAPI_MEDIA_TYPE, JSON_TYPE],
    maxAgeSeconds: FIVE_MINUTES,
    render: (site) => openApiDocument(site, discoveryDocuments),
  },
  {
    id: "get_openbb_widgets",
    path: paths.openbbWidgets,
    summary: "The widgets of OpenBB Workspace (widgets.json)",
    mediaTypes: [JSON_TYPE],
    maxAgeSeconds: FIVE_MINUTES,
    render: openbbWidgets,
  },
  {
    id: "get_openbb_apps",
    path: paths.openbbApps,
    summary: "A dashboard of OpenBB Workspace (apps.json)",
    schema: z.array(z.looseObject({})),
    mediaTypes: [JSON_TYPE],
    maxAgeSeconds: FIVE_MINUTES,
    render: openbbApps,
  },
  {
    id: "get_auth_md",
    path: paths.authMd,
    summary: "How agents get access, as text",
    mediaTypes: [MARKDOWN],
    maxAgeSeconds: FIVE_MINUTES,
    render: authMd,
  },
  {
    id: "get_llms_txt",
    path: paths.llms,
    summary: "Summary of the service for language models",
    mediaTypes: [TEXT],
    maxAgeSeconds: FIVE_MINUTES,
    render: llmsTxt,
  },
  {
    id: "get_robots_txt",
    path: paths.robots,
    summary: "Rules for crawlers (RFC 9309)",
    mediaTypes: [TEXT],
    maxAgeSeconds: FIVE_MINUTES,
    render: robotsTxt,
  },
  {
    id: "get_sitemap",
    path: paths.sitemap,
    summary: "The public pages",
    mediaTypes: ["application/xml; charset=utf-8"],
    maxAgeSeconds: FIVE_MINUTES,
    render: sitemap,
  },
  {
    id: "get_security_txt",
    path: paths.securityTxt,
    summary: "Contact for security reports (RFC 9116)",
    mediaTypes: [TEXT],
    maxAgeSeconds: FIVE_MINUTES,
    render: securityTxt,
  },
  {
    id: "get_icon",
    path: paths.icon,
    summary: "The icon of the service (SVG)",
    mediaTypes: [ICON_MEDIA_TYPE],
    maxAgeSeconds: FIVE_MINUTES,
    render: () => iconSvg,
  },
];
