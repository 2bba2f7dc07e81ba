import { hash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

/** A strong entity tag for a body, the same for a text and its UTF-8 (RFC 9110 section 8.8.3). */
export const strongEtag = (body: string | Uint8Array): string =>
  `"${hash("sha256", body, "base64url")}"`;

/**
 * Whether `If-None-Match` matches the current representation, so that the response is 304. The
 * comparison is weak (RFC 9110 section 13.1.2). Unlike Express, this function ignores
 * `Cache-Control: no-cache` of the request, because `fetch` adds that header to every conditional
 * request.
 */
export function matchesEtag(
  { headers }: { readonly headers: IncomingHttpHeaders },
  etag: string,
): boolean {
  const condition = headers["if-none-match"];
  const known = condition?.split(",").map((one) => one.trim().replace(/^W\//, "")) ?? [];
  return known.includes(etag) || known.includes("*");
}
