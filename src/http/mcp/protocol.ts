/** The latest protocol revision, which has no sessions. */
export const LATEST_REVISION = "2026-07-28";

/** The protocol revisions and capabilities that the server announces, also in discovery
 *  documents. */
export const protocol = {
  /** Supported protocol revisions, newest first. */
  versions: [LATEST_REVISION, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"],
  capabilities: {
    tools: { listChanged: false },
    resources: { listChanged: false, subscribe: true },
    prompts: { listChanged: false },
    completions: {},
    extensions: {
      "io.modelcontextprotocol/oauth-client-credentials": {},
      // Identity assertion grants (ID-JAG), which the authorization server announces as well.
      "io.modelcontextprotocol/enterprise-managed-authorization": {},
    },
  },
};
