import { protectedResource } from "./protected-resource.ts";
import type { Site } from "./site.ts";

/** One document that tells strangers how to find and use the service. */
export interface DiscoveryDocument {
  readonly path: `/${string}`;
  readonly mediaType: string;
  readonly render: (site: Site) => object;
}

/** The documents that the service serves itself; the authorization server serves its own two. */
export const documents: readonly DiscoveryDocument[] = [
  {
    path: "/.well-known/oauth-protected-resource",
    mediaType: "application/json",
    render: (site) => protectedResource(site, site.baseUrl),
  },
  {
    path: "/.well-known/oauth-protected-resource/mcp",
    mediaType: "application/json",
    render: (site) => protectedResource(site, `${site.baseUrl}/mcp`),
  },
];
