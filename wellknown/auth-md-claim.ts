import { sh } from "./markdown.ts";
import { paths } from "./paths.ts";
import type { Site } from "./site.ts";

/** The part of auth.md on how a person comes to answer for an agent. @param minutes Life of a
 *  code. */
export function claimSection(site: Site, minutes: number): string {
  return `## Be claimed

A person who answers for an agent gives it what they may do themselves, \`alerts:write\` too. The code works for ${minutes} minutes. There are two ways.

${byTheAgentsCode(site)}

${byTheShownCode(site)}

### Afterwards

Answer to both: \`agent_id\`, \`status\` \`claimed\`, \`scope\`. All earlier tokens of the agent have ended: get a new one, which has the new scopes. Its \`registration_access_token\` has ended too (RFC 7592): who completed the claim with one of these requests finds a new one in the answer; on the page nobody gets one. The person can end the claim on their page ${site.baseUrl}/account`;
}

const byTheAgentsCode = ({ baseUrl }: Site) => `### The person gets the agent's code

Show the person \`claim.code\` and \`claim.page\` of the registration: they sign in there, look at the agent, and agree. An application of the person can do it too, with a token for which they signed in at most five minutes ago; such an agent ends with what the person allowed the application:

${sh(`curl -X POST ${baseUrl}${paths.claim} \\
  -H "Authorization: Bearer $PERSON_TOKEN" \\
  -H "Content-Type: application/json" \\
  -d @- <<END
{"agent_id": "$CLIENT_ID", "claim_code": "$CODE"}
END`)}

Answer: \`200\`.`;

const byTheShownCode = ({ baseUrl }: Site) => `### The agent gets the person's code

Ask for a page; this also replaces the agent's own code. With \`login_hint\`, an e-mail address, only that person can go on.

${sh(`curl -X POST ${baseUrl}${paths.claimStart} \\
  -H "Authorization: Bearer $ACCESS_TOKEN" \\
  -H "Content-Type: application/json" \\
  -d @- <<END
{"agent_id": "$CLIENT_ID"}
END`)}

Answer: \`200\` with \`verification_uri\`. The person opens it, signs in, agrees, and is shown a code, which they tell the agent:

${sh(`curl -X POST ${baseUrl}${paths.claim} \\
  -H "Authorization: Bearer $ACCESS_TOKEN" \\
  -H "Content-Type: application/json" \\
  -d @- <<END
{"agent_id": "$CLIENT_ID", "claim_code": "$SHOWN_CODE"}
END`)}

Answer: \`200\`; before the person has agreed it is \`409 claim_not_confirmed\`. An agent without a token uses its \`registration_access_token\` in both requests.`;
