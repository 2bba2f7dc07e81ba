import { paths } from "./paths.ts";
import type { RenderContext, Site } from "./site.ts";

const DAY_MS = 86_400_000;

/** Days that the contact is good for; RFC 9116 section 2.5.5 asks for less than a year. */
const GOOD_FOR_DAYS = 90;

/** Where weaknesses are reported (RFC 9116): the operator reads the inquiries. */
export function securityTxt({ baseUrl }: Site, { today }: RenderContext): string {
  const day = Math.floor(today.getTime() / DAY_MS);
  const expires = new Date((day + GOOD_FOR_DAYS) * DAY_MS).toISOString();
  return `# The page has a form.
# Programs can POST JSON to ${baseUrl}${paths.contact} instead: {"email": "…", "message": "…"}
Contact: ${baseUrl}${paths.contactPage}
Expires: ${expires}
Preferred-Languages: en
Canonical: ${baseUrl}${paths.securityTxt}
`;
}
