import { type Link, siteLinks } from "../../../wellknown/links.ts";

/** Value of the header `Link` (RFC 8288 section 3). No part of a link has quotes in it. */
export function linkHeader(links: readonly Link[]): string {
  const one = ({ href, rel, type }: Link) =>
    `<${href}>; rel="${rel}"${type === undefined ? "" : `; type="${type}"`}`;
  return links.map(one).join(", ");
}

/** Value of the header that says where the descriptions of the service are.
 *  @param baseUrl Public origin, without a trailing slash. */
const linkTo = (baseUrl: string): string => linkHeader(siteLinks(baseUrl));

/** Value of the header that says that a page is there as Markdown too. @param address Of the page. */
export const linkToMarkdown = (address: string): string =>
  linkHeader([{ href: address, rel: "alternate", type: "text/markdown" }]);

/** Says where the descriptions are, on the answers of the REST interface and of the home page.
 *  @returns Value of the header `Link` by path. */
export function descriptionLinks(baseUrl: string): (path: string) => string | undefined {
  const link = linkTo(baseUrl);
  const home = `${link}, ${linkToMarkdown(`${baseUrl}/`)}`;
  return (path) => {
    if (path === "/") return home;
    return path.startsWith("/api/") ? link : undefined;
  };
}
