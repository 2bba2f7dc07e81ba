import { SERVICE_SUMMARY, type Site } from "../src/answers/site.ts";
import { OPENAPI_MEDIA_TYPE, paths, SERVER_CARD_MEDIA_TYPE } from "../src/lib/paths.ts";
import { SERVER_NAME } from "./server-card.ts";

/** Typical questions to the service, by which agents find it. */
const queries = [
  "Is the evidence for this stock bullish or bearish, and why?",
  "Which instruments have a LONG signal now?",
  "Show off-exchange (dark pool) block trades of a stock.",
  "Tell me when the signal of a coin changes.",
];

/**
 * The AI Catalog, with links to the descriptions of the MCP server and the REST interface. Drafts
 * of the format disagree on the members of an entry, so entries have the members of all drafts.
 */
export function aiCatalog({ baseUrl, name, version }: Site) {
  const { hostname } = new URL(baseUrl);
  const entry = (kind: string, { path, type }: { path: string; type: string }) => ({
    identifier: `urn:air:${hostname}:${kind}:${SERVER_NAME}`,
    displayName: `${name} (${kind === "mcp" ? "MCP" : "REST"})`,
    description: SERVICE_SUMMARY,
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
      entry("mcp", { path: paths.mcpServerCard, type: SERVER_CARD_MEDIA_TYPE }),
      entry("rest", { path: paths.openapi, type: OPENAPI_MEDIA_TYPE }),
    ],
  };
}
