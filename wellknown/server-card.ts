import { SERVICE_SUMMARY, type Site } from "../src/answers/site.ts";
import { paths } from "../src/lib/paths.ts";
import { ICON_MEDIA_TYPE } from "./icon.ts";

/** URL of version 1 of the card's schema, as used in the examples of the specification. */
const SCHEMA = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json";

/** Name of the MCP server. */
export const SERVER_NAME = "market-signal";

/** Information about the MCP server, for its clients and its card. */
export const mcpServerInfo = ({
  baseUrl,
  name,
  version,
}: Pick<Site, "baseUrl" | "name" | "version">) => ({
  name: SERVER_NAME,
  title: name,
  version,
  websiteUrl: baseUrl + paths.home,
  icons: [{ src: baseUrl + paths.icon, mimeType: ICON_MEDIA_TYPE, sizes: ["any"] }],
});

/**
 * The card of the MCP server, with the members of both the v1 schema (SEP-2127) and SEP-1649, which
 * scanners expect. Both schemas define `version`, which is the version of the server.
 */
export function serverCard(site: Site) {
  const { baseUrl, mcp } = site;
  const endpoint = baseUrl + paths.mcp;
  const info = mcpServerInfo(site);
  const { version, title, websiteUrl, icons } = info;
  return {
    $schema: SCHEMA,
    name: `${namespaceOf(baseUrl)}/${SERVER_NAME}`,
    version,
    title,
    description: SERVICE_SUMMARY,
    websiteUrl,
    icons,
    remotes: [
      {
        type: "streamable-http",
        url: endpoint,
        supportedProtocolVersions: mcp.versions,
        headers: [
          {
            name: "Authorization",
            description: `Bearer and an access token or API key; ${baseUrl}${paths.authMd} says how to get one.`,
            isRequired: true,
            isSecret: true,
          },
        ],
      },
    ],
    protocolVersion: mcp.versions[0],
    serverInfo: info,
    endpoint,
    transport: { type: "streamable-http", endpoint },
    capabilities: mcp.capabilities,
    authentication: { required: true, schemes: ["bearer", "oauth2"] },
    documentationUrl: baseUrl + paths.reference,
  };
}

/**
 * The namespace of the server name: the domain in reverse order, as the schema requires. An IP
 * address is not reversed; its brackets and colons, which the schema does not allow, become
 * hyphens.
 */
function namespaceOf(baseUrl: string): string {
  const { hostname } = new URL(baseUrl);
  const isName = /[a-z]$/.test(hostname);
  return isName ? hostname.split(".").reverse().join(".") : hostname.replaceAll(/[[\]:]/g, "-");
}
