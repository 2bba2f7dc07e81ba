import { hash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

/** A strong validator of a text (RFC 9110 section 8.8.3). */
export const strongEtag = (text: string): string => `"${hash("sha256", text, "base64url")}"`;

/**
 * Whether whoever asks has what would be sent, by its strong validator (RFC 9110 section 13.1.2); a
 * weak form of it fits as well, the comparison is a weak one. `fetch` asks with `no-cache` then,
 * which Express would take for a wish to have it anew.
 */
export function matchesEtag(
  { headers }: { readonly headers: IncomingHttpHeaders },
  etag: string,
): boolean {
  const condition = headers["if-none-match"];
  const known = condition?.split(",").map((one) => one.trim().replace(/^W\//, "")) ?? [];
  return known.includes(etag) || known.includes("*");
}
