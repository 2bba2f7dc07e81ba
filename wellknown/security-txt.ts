import type { RenderContext, Site } from "../src/answers/site.ts";
import { DAY_MS } from "../src/lib/day.ts";
import { paths } from "../src/lib/paths.ts";

/** Validity of the document in days; RFC 9116 section 2.5.5 recommends less than a year. */
const VALIDITY_DAYS = 90;

/**
 * The document security.txt (RFC 9116). Vulnerabilities are reported through the contact form,
 * which the operator reads.
 */
export function securityTxt({ baseUrl }: Site, { today }: RenderContext): string {
  const day = Math.floor(today.getTime() / DAY_MS);
  const expires = new Date((day + VALIDITY_DAYS) * DAY_MS).toISOString();
  return `# The page has a form.
# Programs can POST JSON to ${baseUrl}${paths.contact} instead: {"email": "…", "message": "…"}
Contact: ${baseUrl}${paths.contactPage}
Expires: ${expires}
Preferred-Languages: en
Canonical: ${baseUrl}${paths.securityTxt}
`;
}
