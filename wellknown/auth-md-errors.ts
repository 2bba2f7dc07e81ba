import { table } from "./markdown.ts";

/** What can go wrong, and the way out. */
const errors = [
  ["400", "`invalid_client_metadata`, `invalid_redirect_uri`", "Correct the registration."],
  ["400", "`invalid_scope`", "Ask for less, or be claimed first."],
  ["400", "`invalid_target`", "Name one of the two resources, or none."],
  ["400", "`invalid_claim_code`", "Get a new code; five wrong ones end it."],
  ["401", "`invalid_client`", "Check the secret; register again if the agent has ended."],
  ["401", "`invalid_token`, `unauthenticated`", "Get a new token."],
  ["403", "`insufficient_scope`", "The challenge names the scopes that are needed."],
  ["403", "`access_denied`", "This credential cannot claim the agent."],
  ["409", "`claim_not_confirmed`", "Wait until the person has agreed."],
  ["409", "`already_claimed`", "Go on: somebody answers for the agent."],
  ["429", "`temporarily_unavailable`, `rate_limited`", "Wait as `Retry-After` says."],
  ["503", "`temporarily_unavailable`, `store_unavailable`", "Wait as `Retry-After` says."],
];

/** The part of auth.md on refusals. */
export const errorSection = `## Errors

Under \`/oauth\` the body has \`error\` and \`error_description\` (RFC 6749). Elsewhere it is a problem (RFC 9457) with \`code\`, \`detail\` and \`next\`, what to do.

${table(["Status", "Error", "What to do"], errors)}`;
