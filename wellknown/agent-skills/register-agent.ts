import type { Site } from "../../src/answers/site.ts";
import { paths } from "../../src/lib/paths.ts";
import { firstRestCommand, listToolsCommand } from "../calls.ts";
import { COMMAND_VARIABLES_NOTE, shellBlock } from "../markdown.ts";
import type { Skill } from "./skill.ts";

/** Skill: register, get a token and get more scopes. */
export const registerAgent: Skill = {
  name: "register-agent",
  description: ({ name, anonymousScopes }) =>
    `${anonymousScopes.length > 0 ? openDescription(name) : closedDescription(name)} Use it before the first call, after a 401 or 403, or when a token has expired.`,
  body: (site) => `# Register an agent

${COMMAND_VARIABLES_NOTE} All details and errors: ${site.baseUrl}${paths.authMd}

${site.anonymousScopes.length > 0 ? steps(site) : PEOPLE_ONLY}`,
};

const openDescription = (name: string): string =>
  `Register an agent at ${name} without a human, get an access token, and have a person claim the agent for more scopes.`;

const closedDescription = (name: string): string =>
  `Get access to ${name} through the person you work for, who connects you, gives you an API key, or claims you.`;

const PEOPLE_ONLY =
  "On this instance agents without an owner get no scopes. Ask the person you work for to connect you by the authorization code flow, for an API key, or to claim you: register with the type `service_auth`.";

function steps(site: Site): string {
  const { baseUrl, anonymousScopes } = site;
  return `1. Register once, and keep \`client_id\`, \`client_secret\` and \`registration_access_token\` where others cannot read them.

${shellBlock(`curl -X POST ${baseUrl}${paths.register} \\
  -H "Content-Type: application/json" \\
  -d '{"client_name": "My agent", "grant_types": ["client_credentials"]}'`)}

Answer: \`201\`.

2. Get a token. Get a new one when \`expires_in\` seconds have passed or a call is answered with 401.

${shellBlock(`curl -X POST ${baseUrl}${paths.token} \\
  -d grant_type=client_credentials \\
  -d "client_id=$CLIENT_ID" \\
  -d "client_secret=$CLIENT_SECRET"`)}

Answer: \`200\`.

3. Send it with every call, as \`Authorization: Bearer\`.

${firstRestCommand(site) ?? listToolsCommand(site)}

Without an owner an agent gets \`${anonymousScopes.join(" ")}\`. For \`alerts:write\` a person must claim it: show them \`claim.page\` and \`claim.code\` of the registration. Over MCP, call the tool instead: its answer \`claim_required\` has a page and a code that are still valid, and says what to tell the person. When they have approved, get a new token with the same \`client_id\` and \`client_secret\`, without \`scope\`; an MCP client does so by itself after the 401. Do not register again.`;
}
