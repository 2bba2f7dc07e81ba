import { OPENAPI_TYPE, paths, SERVER_CARD_TYPE } from "./paths.ts";
import { SERVER_NAME } from "./server-card.ts";
import { type Site, SUMMARY } from "./site.ts";

/** What people ask whose agent should look here. */
const queries = [
  "Is the evidence for this stock bullish or bearish, and why?",
  "Which instruments have a LONG signal now?",
  "Show off-exchange (dark pool) block trades of a stock.",
  "Tell me when the signal of a coin changes.",
];

/**
 * AI Catalog: where the MCP server and the REST interface are described. What entries consist of
 * differs between drafts, so that they have the members of all of them.
 */
export function aiCatalog({ baseUrl, name, version }: Site) {
  const { hostname } = new URL(baseUrl);
  const entry = (kind: string, { path, type }: { path: string; type: string }) => ({
    identifier: `urn:air:${hostname}:${kind}:${SERVER_NAME}`,
    displayName: `${name} (${kind === "mcp" ? "MCP" : "REST"})`,
    description: SUMMARY,
    version,
    type,
    mediaType: type,
    url: baseUrl + path,
    representativeQueries: queries,
  });
  return {
    specVersion: "1.0",
    host: {
      displayName: name,
      identifier: hostname,
      documentationUrl: baseUrl + paths.reference,
    },
    entries: [
      entry("mcp", { path: paths.mcpServerCard, type: SERVER_CARD_TYPE }),
      entry("rest", { path: paths.openapi, type: OPENAPI_TYPE }),
    ],
  };
}
