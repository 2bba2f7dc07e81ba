import { allScopes, scopeDescriptions } from "../src/access/scopes.ts";
import type { Site } from "../src/answers/site.ts";
import { ID_JAG_TOKEN_TYPE } from "../src/auth/assertions/oauth-urns.ts";
import { ACCESS_TOKEN_LIFETIME_SECONDS } from "../src/auth/oidc/token-lifetimes.ts";
import { paths } from "../src/lib/paths.ts";
import { CLAIM_CODE_LIFETIME_MS } from "../src/principals/agents/claim-code.ts";
import { firstRestCommand, listToolsCommand } from "./calls.ts";
import { COMMAND_VARIABLES_NOTE, markdownTable, shellBlock } from "./markdown.ts";

/**
 * The document auth.md: how an agent gets access, step by step. The metadata member `agent_auth` is
 * its machine-readable form.
 */
export function authMd(site: Site): string {
  const isOpen = site.anonymousScopes.length > 0;
  const own = isOpen ? [registration(site), identities(), tokens(site)] : [peopleOnly(site)];
  const claims = isOpen ? [claimSection(site, CLAIM_CODE_LIFETIME_MS / 60_000)] : [];
  const sections = [
    ...[introduction(site), discovery(site), ...own, calls(site)],
    ...[...claims, ending(site), errorSection],
  ];
  return `${sections.join("\n\n")}\n`;
}

const introduction = ({ baseUrl, name }: Site) => `# auth.md: access to ${name}

> How an agent gets access, and how a person claims it. Machine-readable: the member \`agent_auth\` of ${baseUrl}${paths.authorizationServer}

The issuer is \`${baseUrl}\`. ${COMMAND_VARIABLES_NOTE}`;

const discovery = ({ baseUrl }: Site) => `## Discover

${shellBlock(`curl "${baseUrl}/api/signals"`)}

Answer: \`401\`. Its header \`WWW-Authenticate: Bearer resource_metadata="..."\` names the metadata of the resource, which name the authorization server.

- REST: ${baseUrl}${paths.protectedResource}
- MCP: ${baseUrl}${paths.mcpProtectedResource}
- Authorization server: ${baseUrl}${paths.authorizationServer} and ${baseUrl}${paths.openidConfiguration}`;

const peopleOnly = ({ baseUrl }: Site) => `## Register

On this instance agents without an owner get no scopes: an agent may register, but its \`scope\` is empty until a person has claimed it.

An agent can register for one person, at ${baseUrl}${paths.register} (RFC 7591) with the grant \`client_credentials\`, the \`type\` \`service_auth\` and, as \`login_hint\`, the person's email address. It gets no token before that person has claimed it: show them \`claim.page\` and \`claim.code\` of the answer. Afterwards it exchanges \`client_id\` and \`client_secret\` at ${baseUrl}${paths.token} for tokens.

An application that a person signs in with registers at ${baseUrl}${paths.register} (RFC 7591) with \`redirect_uris\` and the grant \`authorization_code\`, and gets its tokens by the authorization code flow with PKCE.`;

const registration = ({ baseUrl, anonymousScopes }: Site) => `## Register

No credential is needed (RFC 7591).

${shellBlock(`curl -X POST ${baseUrl}${paths.register} \\
  -H "Content-Type: application/json" \\
  -d '{"client_name": "My agent", "grant_types": ["client_credentials"], "scope": "${anonymousScopes.join(" ")}"}'`)}

Answer: \`201\` with \`client_id\`, \`client_secret\`, the granted \`scope\`, and in \`claim\` the code and page with which a person claims the agent, and who can sign in there (\`who_can_claim\`). Keep \`client_secret\` and \`registration_access_token\`. A registration expires at \`registration_expires_at\`, in Unix seconds: after a day without a token, and after 30 days without a claim.

${scopeTable(anonymousScopes)}`;

function scopeTable(open: Site["anonymousScopes"]): string {
  const rows = allScopes.map((scope) => [
    `\`${scope}\``,
    scopeDescriptions[scope],
    open.includes(scope) ? "yes" : "no",
  ]);
  return markdownTable(["Scope", "Allows", "Without a person"], rows);
}

const identities = () => `## Choose an identity type

The member \`type\` of the registration:

- Absent, \`anonymous\` or \`agent\`: the agent has no owner yet.
- \`service_auth\` with \`login_hint\`, an email address: only that person can claim the agent, which gets no token before the claim.
- \`identity_assertion\` with \`assertion_type\` \`${ID_JAG_TOKEN_TYPE}\` and \`assertion\`, a JWT (ID-JAG): a person owns the agent from the start. The operator decides which issuers are trusted; others are rejected with \`issuer_not_enabled\`. Its \`client_id\` must be the issuer itself; an assertion issued to a client is for the token endpoint. An assertion can be used once: a replay revokes what was issued for it.
- \`user\` and \`service\` do not register and are rejected: a user signs in by the authorization code flow with PKCE, a service uses an API key.

\`agent\`, \`service_auth\` and \`identity_assertion\` need the grant \`client_credentials\`, which is the default of \`grant_types\`.`;

const tokens = ({ baseUrl }: Site) => `## Get a token

${shellBlock(`curl -X POST ${baseUrl}${paths.token} \\
  -d grant_type=client_credentials \\
  -d "client_id=$CLIENT_ID" \\
  -d "client_secret=$CLIENT_SECRET"`)}

Answer: \`200\` with \`access_token\`, valid for ${ACCESS_TOKEN_LIFETIME_SECONDS} seconds; there is no refresh token, request a new one instead. \`scope\` requests a subset of the registered scopes. \`resource=${baseUrl}${paths.mcp}\` makes the token valid at the MCP endpoint only.`;

function calls(site: Site): string {
  const byRest = firstRestCommand(site);
  const parts = [
    "## Call",
    "Send one credential in a header, never in the URL: `Authorization: Bearer` with a token or an API key, or `x-api-key` with an API key.",
    ...(byRest === undefined ? [] : [byRest]),
    "The MCP endpoint takes the same token:",
    listToolsCommand(site),
  ];
  return parts.join("\n\n");
}

const ending = ({ baseUrl }: Site) => `## Revoke

${shellBlock(`curl -X POST ${baseUrl}${paths.revoke} \\
  -d "token=$ACCESS_TOKEN" \\
  -d token_type_hint=access_token`)}

Answer: \`200\` without a body, also for an unknown or expired token (RFC 7009). To delete the registration with all its tokens:

${shellBlock(`curl -X DELETE "${baseUrl}${paths.register}/$CLIENT_ID" \\
  -H "Authorization: Bearer $REGISTRATION_ACCESS_TOKEN"`)}

Answer: \`204\`. At the same URL \`GET\` reads and \`PUT\` replaces the registration (RFC 7592); \`PUT\` returns a new \`registration_access_token\`.`;

/**
 * The section of auth.md on how a person claims an agent.
 * @param minutes Lifetime of a claim code, in minutes.
 */
function claimSection(site: Site, minutes: number): string {
  return `## Be claimed

A person who claims an agent gives it the scopes that they hold themselves, including \`alerts:write\`. The code is valid for ${minutes} minutes. There are two ways.

Over MCP you need neither request: a tool that you must be claimed for answers with \`isError\` and the code \`claim_required\`, and says what to tell the person, with the page and the code. Call it again when they have done it. A client with elicitation in URL mode opens the page itself.

${byTheAgentsCode(site)}

${byTheShownCode(site)}

### Afterwards

Answer to both: \`agent_id\`, \`status\` \`claimed\`, \`scope\`. All earlier tokens of the agent are revoked: get a new one, which has the new scopes. Its \`registration_access_token\` is replaced too (RFC 7592): the caller that completed the claim with one of these requests gets the new one; a claim on the page returns none. The person can end the claim on their page ${site.baseUrl}/account`;
}

const byTheAgentsCode = ({ baseUrl }: Site) => `### The person gets the agent's code

Show the person \`claim.code\` and \`claim.page\` of the registration: they sign in there, review the agent, and approve it; that completes the claim, without another request of the agent. \`claim.who_can_claim\` says who can sign in, and what anyone else does first. An application of the person can claim it too, with a token from a sign-in at most five minutes ago; such a claim ends with the application's access:

${shellBlock(`curl -X POST ${baseUrl}${paths.claim} \\
  -H "Authorization: Bearer $PERSON_TOKEN" \\
  -H "Content-Type: application/json" \\
  -d @- <<END
{"agent_id": "$CLIENT_ID", "claim_code": "$CODE"}
END`)}

Answer: \`200\`.`;

const byTheShownCode = ({ baseUrl }: Site) => `### The agent gets the person's code

Request a page; this also replaces the agent's own code. With \`login_hint\`, an email address, only that person can use it.

${shellBlock(`curl -X POST ${baseUrl}${paths.claimStart} \\
  -H "Authorization: Bearer $ACCESS_TOKEN" \\
  -H "Content-Type: application/json" \\
  -d @- <<END
{"agent_id": "$CLIENT_ID"}
END`)}

Answer: \`200\` with \`verification_uri\`. The person opens it, signs in, approves, and gets a code to tell the agent:

${shellBlock(`curl -X POST ${baseUrl}${paths.claim} \\
  -H "Authorization: Bearer $ACCESS_TOKEN" \\
  -H "Content-Type: application/json" \\
  -d @- <<END
{"agent_id": "$CLIENT_ID", "claim_code": "$SHOWN_CODE"}
END`)}

Answer: \`200\`; before the person has approved, \`409 claim_not_confirmed\`. An agent without a token uses its \`registration_access_token\` in both requests.`;

/** Error responses with their remedies. */
const errors = [
  ["400", "`invalid_client_metadata`, `invalid_redirect_uri`", "Correct the registration."],
  ["400", "`invalid_scope`", "Request fewer scopes, or be claimed first."],
  ["400", "`invalid_target`", "Name one of the two resources, or none."],
  ["400", "`invalid_claim_code`", "Get a new code; five wrong codes invalidate it."],
  ["401", "`invalid_client`", "Check the secret; register again if the registration has expired."],
  ["401", "`invalid_token`, `unauthenticated`", "Get a new token."],
  ["403", "`insufficient_scope`", "The challenge names the scopes that are needed."],
  ["MCP result", "`claim_required`", "Tell the person what `next` says, then call again."],
  ["403", "`access_denied`", "This credential cannot claim the agent."],
  ["409", "`claim_not_confirmed`", "Let a person approve it: `next` says how."],
  ["409", "`already_claimed`", "Continue: the agent has an owner."],
  ["429", "`temporarily_unavailable`, `rate_limited`", "Wait as `Retry-After` says."],
  ["503", "`temporarily_unavailable`, `store_unavailable`", "Wait as `Retry-After` says."],
];

/** The section of auth.md on errors. */
const errorSection = `## Errors

Under \`/oauth\` the body has \`error\` and \`error_description\` (RFC 6749). Elsewhere it is a problem (RFC 9457) with \`code\`, \`detail\` and the next step in \`next\`.

${markdownTable(["Status", "Error", "What to do"], errors)}`;
