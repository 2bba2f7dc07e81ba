import { type SiteLink, siteLinks } from "../../../wellknown/links.ts";

/** A `Link` header value (RFC 8288 section 3). No part of a link contains quotes. */
export function linkHeader(links: readonly SiteLink[]): string {
  const one = ({ href, rel, type }: SiteLink) =>
    `<${href}>; rel="${rel}"${type === undefined ? "" : `; type="${type}"`}`;
  return links.map(one).join(", ");
}

/**
 * The `Link` header value that points to the descriptions of the service.
 *
 * @param baseUrl Public origin without a trailing slash.
 */
const siteLinkHeader = (baseUrl: string): string => linkHeader(siteLinks(baseUrl));

/**
 * The `Link` header value that points to the Markdown version of a page.
 *
 * @param address URL of the page.
 */
export const linkToMarkdown = (address: string): string =>
  linkHeader([{ href: address, rel: "alternate", type: "text/markdown" }]);

/**
 * Creates the `Link` headers of REST responses and the home page.
 *
 * @returns A function that returns the `Link` header value of a path; `undefined` for a path
 * without one.
 */
export function createLinkHeaders(baseUrl: string): (path: string) => string | undefined {
  const link = siteLinkHeader(baseUrl);
  const home = `${link}, ${linkToMarkdown(`${baseUrl}/`)}`;
  return (path) => {
    if (path === "/") return home;
    return path.startsWith("/api/") ? link : undefined;
  };
}
