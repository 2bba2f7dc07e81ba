import type { Site } from "../src/answers/site.ts";
import { OPENAPI_MEDIA_TYPE, paths, SERVER_CARD_MEDIA_TYPE } from "../src/lib/paths.ts";
import { endpoints, pathsOf } from "./endpoints.ts";

/** Media type of a link set with the profile of RFC 9727. */
export const API_CATALOG_MEDIA_TYPE =
  'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"';

/**
 * The API catalog (RFC 9727) as a link set (RFC 9264): every endpoint, with links to its
 * description (RFC 8631).
 */
export function apiCatalog({ baseUrl }: Site) {
  const at = (path: string) => baseUrl + path;
  const link = (path: string, type: string) => [{ href: at(path), type }];
  const common = {
    "service-doc": link(paths.reference, "text/html"),
    status: link(paths.health, "application/json"),
  };
  const open = { "service-desc": link(paths.openapi, OPENAPI_MEDIA_TYPE), ...common };
  const rest = {
    ...open,
    "service-meta": link(paths.protectedResource, "application/json"),
  };
  const log = { ...open, "service-meta": link(paths.logKeys, "text/plain") };
  const mcp = {
    "service-desc": link(paths.mcpServerCard, SERVER_CARD_MEDIA_TYPE),
    ...common,
    "service-meta": link(paths.mcpProtectedResource, "application/json"),
  };
  const oauth = {
    "service-desc": link(paths.openapi, OPENAPI_MEDIA_TYPE),
    "service-doc": link(paths.authMd, "text/markdown"),
    "service-meta": link(paths.authorizationServer, "application/json"),
  };
  const { tools, besideTools, intake, access } = endpoints;
  const membersAt = <L extends object>(described: readonly string[], links: L) =>
    described.map((path) => ({ anchor: at(path), ...links }));
  const members = [
    ...membersAt(pathsOf([...tools, ...besideTools]), rest),
    ...membersAt(pathsOf(intake), open),
    ...membersAt(pathsOf(endpoints.log), log),
    ...membersAt([paths.mcp], mcp),
    ...membersAt(pathsOf(access), oauth),
  ];
  const item = members.map(({ anchor }) => ({ href: anchor }));
  return { linkset: [{ anchor: at(paths.apiCatalog), item }, ...members] };
}
