import type { Site } from "../src/answers/site.ts";
import { paths } from "../src/lib/paths.ts";

/**
 * User agents of AI crawlers. They are listed by name, because some scanners ignore the rules for
 * `*`.
 */
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

/**
 * Rules for all crawlers (RFC 9309). OAuth endpoints and personal pages are disallowed, because
 * they have no public content. Content may be indexed for search and used in answers, but not for
 * training.
 */
const rules = `Content-Signal: search=yes, ai-input=yes, ai-train=no
Disallow: /oauth/
Disallow: /account
Disallow: /claim
Disallow: /sign-in`;

/** The document robots.txt. Listed and unlisted crawlers get the same rules. */
export function robotsTxt({ baseUrl }: Site): string {
  const named = aiAgents.map((agent) => `User-agent: ${agent}`).join("\n");
  return `User-agent: *
${rules}

${named}
${rules}

Sitemap: ${baseUrl}${paths.sitemap}
`;
}
