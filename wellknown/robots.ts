import { paths } from "./paths.ts";
import type { Site } from "./site.ts";

/** Those that read for AI; some scanners take a rule for all as one for none of them. */
const aiAgents = [
  "GPTBot",
  "OAI-SearchBot",
  "ChatGPT-User",
  "ClaudeBot",
  "Claude-User",
  "Claude-SearchBot",
  "PerplexityBot",
  "Perplexity-User",
  "Google-Extended",
  "Applebot-Extended",
  "Amazonbot",
  "Bytespider",
  "CCBot",
  "meta-externalagent",
];

/** What holds for everyone (RFC 9309): there is nothing to be found behind OAuth and on pages of one
 *  person. Content may be searched and be read for an answer, not be trained on. */
const rules = `Content-Signal: search=yes, ai-input=yes, ai-train=no
Disallow: /oauth/
Disallow: /account
Disallow: /claim
Disallow: /sign-in`;

/** Rules for crawlers. */
export function robotsTxt({ baseUrl }: Site): string {
  const named = aiAgents.map((agent) => `User-agent: ${agent}`).join("\n");
  return `User-agent: *
${rules}

${named}
${rules}

Sitemap: ${baseUrl}${paths.sitemap}
`;
}
