/** Path of the MCP endpoint, which is a resource of its own within the whole service. */
const MCP_PATH = "/mcp";

/** The audience check, by which `ProtectedResource.authorize` rejects a token: whether one for the
 *  resource `granted` may be used at the resource `wanted`. A token for the whole service is valid
 *  everywhere, a token for /mcp only there (RFC 8707). */
export function isAudienceAllowed(granted: string, wanted: string): boolean {
  return wanted === granted || wanted === granted + MCP_PATH;
}

function canonical(uri: string): string | undefined {
  return URL.parse(uri)?.href.replace(/\/$/, "");
}

/** The resource of this server that a resource indicator names, ignoring a trailing slash. @returns
 *  `undefined` if there is none. */
export function resolveResource(indicator: string, baseUrl: string): string | undefined {
  const wanted = canonical(indicator);
  return [baseUrl, baseUrl + MCP_PATH].find((known) => canonical(known) === wanted);
}

/** The resources of this server that an assertion allows; all if it names none (RFC 8707). */
export function allowedResources(
  named: readonly string[] | undefined,
  baseUrl: string,
): readonly string[] {
  const here = [baseUrl, baseUrl + MCP_PATH];
  if (named === undefined) return here;
  const meant = named.map((indicator) => resolveResource(indicator, baseUrl) ?? "");
  return here.filter((resource) => meant.some((granted) => isAudienceAllowed(granted, resource)));
}
