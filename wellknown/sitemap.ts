import type { Site } from "../src/answers/site.ts";
import { paths } from "../src/lib/paths.ts";

/** Paths of the public pages. */
const pages = [paths.home, paths.trackRecord, paths.reference, paths.authMd, paths.llms];

/**
 * The document sitemap.xml (sitemaps.org protocol 0.9). An origin contains no character that must
 * be escaped in XML.
 */
export function sitemap({ baseUrl }: Site): string {
  const urls = pages.map((path) => `<url><loc>${baseUrl}${path}</loc></url>`);
  return `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${urls.join("\n")}
</urlset>
`;
}
