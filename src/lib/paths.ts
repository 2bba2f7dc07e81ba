/** Paths of documents and endpoints that other documents link to. */
export const paths = {
  home: "/",
  mcp: "/mcp",
  health: "/api/health",
  contact: "/api/contact",
  contactPage: "/contact",
  apply: "/apply",
  authorize: "/oauth/authorize",
  token: "/oauth/token",
  register: "/oauth/register",
  claim: "/oauth/claim",
  claimStart: "/oauth/claim/start",
  revoke: "/oauth/revoke",
  userInfo: "/oauth/userinfo",
  reference: "/docs/api",
  openapi: "/docs/api/openapi.json",
  icon: "/icon.svg",
  llms: "/llms.txt",
  authMd: "/auth.md",
  robots: "/robots.txt",
  sitemap: "/sitemap.xml",
  securityTxt: "/.well-known/security.txt",
  apiCatalog: "/.well-known/api-catalog",
  aiCatalog: "/.well-known/ai-catalog.json",
  skillsIndex: "/.well-known/agent-skills/index.json",
  serverCard: "/.well-known/mcp/server-card.json",
  mcpServerCard: "/mcp/server-card",
  openbbWidgets: "/widgets.json",
  openbbApps: "/apps.json",
  jwks: "/.well-known/jwks.json",
  trackRecord: "/track-record",
  logCheckpoint: "/log/checkpoint",
  logKeys: "/log/keys",
  logTiles: "/log/tile",
  logProof: "/log/proof",
  logConsistency: "/log/consistency",
  webhookKeys: "/.well-known/webhook-keys.json",
  authorizationServer: "/.well-known/oauth-authorization-server",
  openidConfiguration: "/.well-known/openid-configuration",
  protectedResource: "/.well-known/oauth-protected-resource",
  mcpProtectedResource: "/.well-known/oauth-protected-resource/mcp",
} as const;

/** Path of the page about an instrument. */
export const instrumentPath = (symbol: string): string => `/market/${encodeURIComponent(symbol)}`;

/** Name of a published skill, in lower-case words with hyphens. */
export type SkillName = "market-signals" | "register-agent" | "alert-webhooks";

/** Path of a skill. */
export const skillPath = (name: SkillName) => `/.well-known/agent-skills/${name}/SKILL.md` as const;

/** Media type of an OpenAPI description (registered with version 3.1). */
export const OPENAPI_MEDIA_TYPE = "application/vnd.oai.openapi+json";

/** Media type of an MCP server card (SEP-2127). */
export const SERVER_CARD_MEDIA_TYPE = "application/mcp-server-card+json";
