import type { Scope } from "../src/auth/scopes.ts";
import { sh } from "./markdown.ts";
import { paths } from "./paths.ts";
import type { Site } from "./site.ts";

/** Whether unclaimed agents lack a scope that others have. `false` where they have no scope at all,
 *  since a person has then claimed every caller. */
export const isDeniedToUnclaimed = (scope: Scope, { anonymousScopes }: Site): boolean =>
  anonymousScopes.length > 0 && !anonymousScopes.includes(scope);

/** A REST request as a command, and its response. */
export const restCall = ({ baseUrl }: Site, path: string): string =>
  `${sh(`curl "${baseUrl}${path}" \\
  -H "Authorization: Bearer $ACCESS_TOKEN"`)}

Answer: \`200\`.`;

/** A command that lists the tools, which requires no scope, and its response. */
export const listCall = ({ baseUrl }: Site): string =>
  `${sh(`curl -X POST ${baseUrl}${paths.mcp} \\
  -H "Authorization: Bearer $ACCESS_TOKEN" \\
  -H "Content-Type: application/json" \\
  -H "Accept: application/json, text/event-stream" \\
  -d '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'`)}

Answer: \`200\`.`;

/** A REST request without parameters to fill in, as the first example; `undefined` where unclaimed
 *  agents lack its scope. */
export const firstRestCall = (site: Site): string | undefined =>
  isDeniedToUnclaimed("signals:read", site)
    ? undefined
    : restCall(site, "/api/instruments?limit=1");
