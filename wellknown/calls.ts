import type { Scope } from "../src/auth/scopes.ts";
import { sh } from "./markdown.ts";
import { paths } from "./paths.ts";
import type { Site } from "./site.ts";

/** Whether an agent lacks a scope as long as nobody answers for it. Where it gets nothing at all it is
 *  never alone: a person answers for whoever calls. */
export const lacksAlone = (scope: Scope, { anonymousScopes }: Site): boolean =>
  anonymousScopes.length > 0 && !anonymousScopes.includes(scope);

/** A command that asks by REST, and what it is answered. */
export const restCall = ({ baseUrl }: Site, path: string): string =>
  `${sh(`curl "${baseUrl}${path}" \\
  -H "Authorization: Bearer $ACCESS_TOKEN"`)}

Answer: \`200\`.`;

/** A command that lists the tools, which every token may, and what it is answered. */
export const listCall = ({ baseUrl }: Site): string =>
  `${sh(`curl -X POST ${baseUrl}${paths.mcp} \\
  -H "Authorization: Bearer $ACCESS_TOKEN" \\
  -H "Content-Type: application/json" \\
  -H "Accept: application/json, text/event-stream" \\
  -d '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'`)}

Answer: \`200\`.`;

/** A first question by REST, for which nothing has to be known; without the scope there is none. */
export const firstRestCall = (site: Site): string | undefined =>
  lacksAlone("signals:read", site) ? undefined : restCall(site, "/api/instruments?limit=1");
