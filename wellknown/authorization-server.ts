import type { Site } from "./site.ts";

/**
 * Members that the authorization server adds to both of its metadata documents (RFC 8414, OpenID
 * Connect Discovery 1.0) beyond those that follow from its configuration.
 */
export function authorizationServerExtras({ baseUrl }: Site) {
  return {
    /** RFC 9728, section 4. */
    protected_resources: [baseUrl, `${baseUrl}/mcp`],
  };
}
