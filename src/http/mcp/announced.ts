/** The newest revision of the protocol, which has no sessions. */
export const MODERN = "2026-07-28";

/** What the endpoint announces to clients of the newest revision and in discovery documents. */
export const announced = {
  /** Revisions of the protocol, the newest first. */
  versions: [MODERN, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"],
  capabilities: {
    tools: { listChanged: false },
    resources: { listChanged: false, subscribe: true },
    prompts: { listChanged: false },
    completions: {},
    extensions: {
      "io.modelcontextprotocol/oauth-client-credentials": {},
      // Grants on identity assertions (ID-JAG), which the authorization server announces as well.
      "io.modelcontextprotocol/enterprise-managed-authorization": {},
    },
  },
};
