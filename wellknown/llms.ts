import {
  DIRECTION_EVIDENCE_TEXT,
  DIRECTION_LIMITS_TEXT,
  SCORE_CAVEAT,
  SCORE_MEANING,
} from "../src/answers/meaning.ts";
import { marketNotes, SERVICE_SUMMARY, type Site } from "../src/answers/site.ts";
import { OPENAPI_MEDIA_TYPE, paths, skillPath } from "../src/lib/paths.ts";
import { tools } from "../tools/index.ts";
import { skills } from "./agent-skills/skills.ts";
import { endpoints } from "./endpoints.ts";

/**
 * The document llms.txt: the purpose of the service and the location of its documents, for language
 * models with a small context (llmstxt.org).
 */
export function llmsTxt(site: Site): string {
  const { baseUrl, name, market } = site;
  const item = (title: string, path: string, note: string) =>
    `- [${title}](${baseUrl}${path}): ${note}`;
  return `# ${name}

> ${SERVICE_SUMMARY}

${marketNotes[market]} Agents connect by MCP (streamable HTTP) at ${baseUrl}${paths.mcp} or by REST. Tools need a token or an API key either way; health, applications and questions need none.

${SCORE_MEANING} ${SCORE_CAVEAT} ${DIRECTION_EVIDENCE_TEXT} ${DIRECTION_LIMITS_TEXT}

Tools:

${tools.map(({ title, description, ...tool }) => `- \`${tool.name}\` (${tool.scopes.join(" ")}): ${description}`).join("\n")}

## Access

${item("auth.md", paths.authMd, accessNote(site))}
${skills.map((skill) => item(skill.name, skillPath(skill.name), skill.description(site))).join("\n")}

## Interface

${item("API reference", paths.reference, "every REST operation")}
${item("OpenAPI description", paths.openapi, OPENAPI_MEDIA_TYPE)}
${item("MCP server card", paths.serverCard, "name, endpoint and protocol versions")}
${item("Health", paths.health, "what is served now")}
${item("Log of signals", paths.logCheckpoint, "signed checkpoint of the append-only log (C2SP tlog-tiles); verify_signal proves an entry")}

## REST beside the tools

${[...endpoints.besideTools, ...endpoints.intake, ...endpoints.access]
  .map(({ summary, method, path }) => item(summary, path, `\`${method.toUpperCase()} ${path}\``))
  .join("\n")}

## Optional

${item("API catalog", paths.apiCatalog, "all endpoints as a link set (RFC 9727)")}
${item("Skills index", paths.skillsIndex, "the skills with their digests")}
${item("OpenBB Workspace", paths.openbbWidgets, "the widgets of a desk (widgets.json); with the key in the header x-api-key")}
${item("OpenBB dashboard", paths.openbbApps, "a dashboard of these widgets (apps.json)")}
${item("Authorization server", paths.authorizationServer, "metadata (RFC 8414)")}
`;
}

const accessNote = ({ anonymousScopes }: Site): string =>
  anonymousScopes.length > 0
    ? "register, get a token, be claimed by a person, end it"
    : "get access through the person you work for, call, end it";
