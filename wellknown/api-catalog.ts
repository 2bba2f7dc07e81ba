import { tools } from "../tools/index.ts";
import { OPENAPI_MEDIA_TYPE, paths, SERVER_CARD_MEDIA_TYPE } from "./paths.ts";
import type { Site } from "./site.ts";

/** Media type of a link set with the profile of RFC 9727. */
export const API_CATALOG_MEDIA_TYPE =
  'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"';

/** Paths of the tool routes that have no path parameters. */
const restPaths = [
  ...new Set(tools.flatMap(({ routes }) => routes.map(({ path }) => path))),
].filter((path) => !path.includes("{"));

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
  const rest = {
    "service-desc": link(paths.openapi, OPENAPI_MEDIA_TYPE),
    ...common,
    "service-meta": link(paths.protectedResource, "application/json"),
  };
  const log = {
    "service-desc": link(paths.openapi, OPENAPI_MEDIA_TYPE),
    ...common,
    "service-meta": link(paths.logKeys, "text/plain"),
  };
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
  const members = [
    ...restPaths.map((path) => ({ anchor: at(path), ...rest })),
    { anchor: at(paths.logCheckpoint), ...log },
    { anchor: at(paths.mcp), ...mcp },
    ...[paths.register, paths.token].map((path) => ({ anchor: at(path), ...oauth })),
  ];
  const item = members.map(({ anchor }) => ({ href: anchor }));
  return { linkset: [{ anchor: at(paths.apiCatalog), item }, ...members] };
}
