import { llmsTxt } from "../../../../wellknown/llms.ts";
import { fenced } from "../../../../wellknown/markdown.ts";
import { paths } from "../../../../wellknown/paths.ts";
import type { Site } from "../../../../wellknown/site.ts";
import { ACCOUNT_PATH } from "../return-to.ts";
import { type Client, connect } from "./connect.ts";

/** The home page for agents: llms.txt, with how to start before its lists, and how common clients are
 *  connected after them. There are no market data in it. */
export function homeMarkdown(site: Site): string {
  const { baseUrl } = site;
  const about = llmsTxt(site).replace(/^## /m, (heading) => `${start(site)}\n\n${heading}`);
  return `${about}
## Connect a client

${connect(site).map(clientText).join("\n\n")}

## People

Whoever runs this service is reached at ${baseUrl}${paths.contactPage}
`;
}

function start(site: Site): string {
  const steps = site.anonymousScopes.length > 0 ? stepsAlone(site) : stepsForPeople(site);
  return `## Start\n\n${steps.map((step, at) => `${at + 1}. ${step}`).join("\n")}`;
}

const stepsAlone = ({ baseUrl, anonymousScopes }: Site): readonly string[] => [
  `Register, without a human: \`POST ${baseUrl}${paths.register}\` with \`{"grant_types": ["client_credentials"]}\`. It grants \`${anonymousScopes.join(" ")}\`.`,
  `Get a token: \`POST ${baseUrl}${paths.token}\` with \`grant_type=client_credentials\`, \`client_id\` and \`client_secret\`.`,
  `Call ${baseUrl}${paths.mcp} with \`Authorization: Bearer\` and the token. Details and errors: ${baseUrl}${paths.authMd}`,
];

const stepsForPeople = ({ baseUrl }: Site): readonly string[] => [
  `Ask the person you work for: this instance gives nothing to agents that nobody answers for. They sign in at ${baseUrl}${ACCOUNT_PATH}`,
  `They connect their client to ${baseUrl}${paths.mcp}, which gets its token by OAuth, or give you an API key from that page.`,
  `Call with \`Authorization: Bearer\` and the token or the key. Details and errors: ${baseUrl}${paths.authMd}`,
];

const clientText = ({ name, intro, code, language }: Client): string =>
  `### ${name}\n\n${intro}\n\n${fenced(language, code)}`;
