import type { RequestHandler } from "express";
import { type Link, siteLinks } from "../../../wellknown/links.ts";

/** Value of the header `Link` (RFC 8288 section 3). No part of a link has quotes in it. */
export function linkHeader(links: readonly Link[]): string {
  const one = ({ href, rel, type }: Link) =>
    `<${href}>; rel="${rel}"${type === undefined ? "" : `; type="${type}"`}`;
  return links.map(one).join(", ");
}

/** Value of the header that says where the descriptions of the service are.
 *  @param baseUrl Public origin, without a trailing slash. */
export const linkTo = (baseUrl: string): string => linkHeader(siteLinks({ baseUrl }));

/** Value of the header that says that a page is there as Markdown too. @param address Of the page. */
export const linkToMarkdown = (address: string): string =>
  linkHeader([{ href: address, rel: "alternate", type: "text/markdown" }]);

/** Lets every answer of the REST interface, and the home page, say where the descriptions are.
 *  @param baseUrl Public origin, without a trailing slash. */
export function linkToDescriptions(baseUrl: string): RequestHandler {
  const link = linkTo(baseUrl);
  const home = `${link}, ${linkToMarkdown(`${baseUrl}/`)}`;
  return ({ path }, res, next) => {
    if (path === "/") res.set("link", home);
    else if (path.startsWith("/api/")) res.set("link", link);
    next();
  };
}
