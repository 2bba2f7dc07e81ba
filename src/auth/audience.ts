/** The MCP endpoint is a resource of its own, below the resource of the whole service. */
const MCP_PATH = "/mcp";

/** The one audience check: whether a token for `granted` may be used at `wanted`. A token for the whole
 *  service is good everywhere, one for /mcp only there (RFC 8707). src/http/authorize.ts refuses the
 *  others. */
export function covers(granted: string, wanted: string): boolean {
  return wanted === granted || wanted === granted + MCP_PATH;
}

function canonical(uri: string): string | undefined {
  return URL.parse(uri)?.href.replace(/\/$/, "");
}

/** The resource that an indicator means, as this server writes it; a slash at the end is no
 *  difference. @returns `undefined` when there is no such resource here. */
export function resourceMeant(indicator: string, baseUrl: string): string | undefined {
  const wanted = canonical(indicator);
  return [baseUrl, baseUrl + MCP_PATH].find((known) => canonical(known) === wanted);
}

/** The resources here that an assertion is good for; all when it names none (RFC 8707). */
export function resourcesWithin(
  named: readonly string[] | undefined,
  baseUrl: string,
): readonly string[] {
  const here = [baseUrl, baseUrl + MCP_PATH];
  if (named === undefined) return here;
  const meant = named.map((indicator) => resourceMeant(indicator, baseUrl) ?? "");
  return here.filter((resource) => meant.some((granted) => covers(granted, resource)));
}
