/** Path of the MCP endpoint, which is a separate resource within the service. */
const MCP_PATH = "/mcp";

/**
 * The audience check with which `ProtectedResource.authorize` rejects tokens: whether a token for
 * the resource `granted` may be used at the resource `wanted`. A token for the whole service is
 * valid everywhere; a token for /mcp is valid only at /mcp (RFC 8707).
 */
export function isAudienceAllowed(granted: string, wanted: string): boolean {
  return wanted === granted || wanted === granted + MCP_PATH;
}

/** The resources of this server: the whole service, and its MCP endpoint. */
export const resourcesOf = (baseUrl: string): readonly string[] => [baseUrl, baseUrl + MCP_PATH];

function canonical(uri: string): string | undefined {
  return URL.parse(uri)?.href.replace(/\/$/, "");
}

/**
 * Finds the resource of this server that a resource indicator identifies, ignoring a trailing
 * slash.
 * @returns `undefined` if this server has no such resource.
 */
export function resolveResource(indicator: string, baseUrl: string): string | undefined {
  const wanted = canonical(indicator);
  return resourcesOf(baseUrl).find((known) => canonical(known) === wanted);
}

/**
 * The resources of this server that an assertion allows (RFC 8707); all resources if the assertion
 * specifies none.
 * @param named Resource indicators in the assertion.
 */
export function allowedResources(
  named: readonly string[] | undefined,
  baseUrl: string,
): readonly string[] {
  const here = resourcesOf(baseUrl);
  if (named === undefined) return here;
  const meant = named.map((indicator) => resolveResource(indicator, baseUrl) ?? "");
  return here.filter((resource) => meant.some((granted) => isAudienceAllowed(granted, resource)));
}
