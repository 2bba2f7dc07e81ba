import { ICON_TYPE } from "./icon.ts";
import { paths } from "./paths.ts";
import { type Site, SUMMARY } from "./site.ts";

/** Version 1 of the card's schema; its own examples name it by this address. */
const SCHEMA = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json";

/** Name of the MCP server among its clients. */
export const SERVER_NAME = "market-signal";

/** What the MCP server says of itself to its clients, and in its card. */
export const serverInfo = ({
  baseUrl,
  name,
  version,
}: Pick<Site, "baseUrl" | "name" | "version">) => ({
  name: SERVER_NAME,
  title: name,
  version,
  websiteUrl: baseUrl + paths.home,
  icons: [{ src: baseUrl + paths.icon, mimeType: ICON_TYPE, sizes: ["any"] }],
});

/**
 * Card of the MCP server: the members of the v1 schema (SEP-2127), and beside them those of
 * SEP-1649, which scanners look for. Where both have `version`, it is that of the server.
 */
export function serverCard(site: Site) {
  const { baseUrl, mcp } = site;
  const endpoint = baseUrl + paths.mcp;
  const info = serverInfo(site);
  const { version, title, websiteUrl, icons } = info;
  return {
    $schema: SCHEMA,
    name: `${namespaceOf(baseUrl)}/${SERVER_NAME}`,
    version,
    title,
    description: SUMMARY,
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

/** Domain with its parts in reverse order, as the schema has it; an address of a machine stays as
 *  it is, save for what the schema does not allow. */
function namespaceOf(baseUrl: string): string {
  const { hostname } = new URL(baseUrl);
  const isName = /[a-z]$/.test(hostname);
  return isName ? hostname.split(".").reverse().join(".") : hostname.replaceAll(/[[\]:]/g, "-");
}
