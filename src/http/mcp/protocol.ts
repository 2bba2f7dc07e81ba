/** The latest protocol revision, which has no sessions. */
export const LATEST_PROTOCOL_REVISION = "2026-07-28";

/** Media type of apps, which hosts show together with tool results (MCP Apps 2026-01-26). */
export const APP_MEDIA_TYPE = "text/html;profile=mcp-app";

/**
 * URI of the app. Reading it requires no scope, because the app is the same for everyone and
 * contains no data.
 */
export const APP_URI = "ui://market-signal/app.html";

/**
 * The protocol revisions that the server supports, and the capabilities that it has in all of them,
 * as discovery documents announce them.
 */
export const mcpProtocol = {
  /** Supported protocol revisions, newest first. */
  versions: [
    LATEST_PROTOCOL_REVISION,
    "2025-11-25",
    "2025-06-18",
    "2025-03-26",
    "2024-11-05",
    "2024-10-07",
  ],
  capabilities: {
    tools: { listChanged: false },
    resources: { listChanged: false, subscribe: false },
    prompts: { listChanged: false },
    completions: {},
    extensions: {
      "io.modelcontextprotocol/ui": { mimeTypes: [APP_MEDIA_TYPE] },
      "io.modelcontextprotocol/oauth-client-credentials": {},
      // Identity assertion grants (ID-JAG), which the authorization server announces as well.
      "io.modelcontextprotocol/enterprise-managed-authorization": {},
    },
  },
};
