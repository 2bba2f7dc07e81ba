import type { Scope } from "../src/access/scopes.ts";
import type { Site } from "../src/answers/site.ts";
import { paths } from "../src/lib/paths.ts";
import { shellBlock } from "./markdown.ts";

/**
 * Whether unclaimed agents have some scopes, but not this scope. `false` if they have no scope at
 * all, since every caller that can make requests has then been claimed.
 */
export const isDeniedToUnclaimed = (scope: Scope, { anonymousScopes }: Site): boolean =>
  anonymousScopes.length > 0 && !anonymousScopes.includes(scope);

/** A curl command for a REST request, and the expected response status. */
export const restCommand = ({ baseUrl }: Site, path: string): string =>
  `${shellBlock(`curl "${baseUrl}${path}" \\
  -H "Authorization: Bearer $ACCESS_TOKEN"`)}

Answer: \`200\`.`;

/**
 * A curl command that lists the MCP tools, which requires no scope, and the expected response
 * status.
 */
export const listToolsCommand = ({ baseUrl }: Site): string =>
  `${shellBlock(`curl -X POST ${baseUrl}${paths.mcp} \\
  -H "Authorization: Bearer $ACCESS_TOKEN" \\
  -H "Content-Type: application/json" \\
  -H "Accept: application/json, text/event-stream" \\
  -d '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'`)}

Answer: \`200\`.`;

/**
 * The first example: a REST request without placeholders; `undefined` if unclaimed agents lack its
 * scope.
 */
export const firstRestCommand = (site: Site): string | undefined =>
  isDeniedToUnclaimed("signals:read", site)
    ? undefined
    : restCommand(site, "/api/instruments?limit=1");
