import { OPENAPI_MEDIA_TYPE, paths } from "../src/lib/paths.ts";

/** A typed link to another resource (RFC 8288). */
export interface SiteLink {
  /** Absolute URL. */
  readonly href: string;
  /** Relation type: registered, or defined by RFC 8631. */
  readonly rel: string;
  /** Media type of the target. */
  readonly type?: string;
}

/**
 * Links from any page of the service to the descriptions of the service.
 * @param baseUrl Public origin.
 */
export function siteLinks(baseUrl: string): readonly SiteLink[] {
  const link = (path: string, rel: string, type?: string): SiteLink => ({
    href: baseUrl + path,
    rel,
    ...(type && { type }),
  });
  return [
    link(paths.apiCatalog, "api-catalog", "application/linkset+json"),
    link(paths.openapi, "service-desc", OPENAPI_MEDIA_TYPE),
    link(paths.reference, "service-doc", "text/html"),
    link(paths.health, "status", "application/json"),
    link(paths.llms, "describedby", "text/plain"),
    link(paths.authMd, "describedby", "text/markdown"),
  ];
}
