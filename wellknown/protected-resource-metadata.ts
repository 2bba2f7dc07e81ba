import { allScopes } from "../src/access/scopes.ts";
import type { Site } from "../src/answers/site.ts";
import { paths } from "../src/lib/paths.ts";

/**
 * Protected resource metadata (RFC 9728).
 *
 * @param resource Resource identifier, which clients compare with the URL they used: the base URL
 * or the URL of the MCP endpoint.
 */
export function protectedResourceMetadata({ baseUrl, name }: Site, resource: string) {
  return {
    resource,
    authorization_servers: [baseUrl],
    scopes_supported: allScopes,
    bearer_methods_supported: ["header"],
    resource_name: name,
    resource_documentation: baseUrl + paths.reference,
  };
}
