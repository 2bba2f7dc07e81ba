import { z } from "zod";
import { assertionErrors } from "../auth/assertions/assertion-claims.ts";
import { ProblemBody } from "./problems.ts";

const { issuer_unreachable: _, invalid_request: __, ...assertions } = assertionErrors;

/** OAuth error codes, each with the causes it has in this service. */
export const oauthErrorCauses = {
  invalid_request: "A member is missing, repeated or malformed.",
  invalid_client: "The client is unknown, or its authentication failed.",
  invalid_grant: "The code, refresh token or assertion is wrong, used or expired.",
  unauthorized_client: "The client is not registered for this grant.",
  unsupported_grant_type: "The grant type is not supported.",
  invalid_scope: "None of the requested scopes can be granted.",
  invalid_target: "The resource does not belong to this service.",
  invalid_client_metadata: "A member of the registration is not accepted.",
  invalid_redirect_uri: "A redirect URI is not accepted.",
  unapproved_software_statement: "Software statements are not supported.",
  unsupported_identity_type: "The identity type is not supported.",
  invalid_login_hint: "`login_hint` is not an email address.",
  invalid_token: "The token is missing, unknown, expired or revoked.",
  insufficient_scope: "The token lacks a required scope.",
  access_denied: "The credential is valid, but does not permit this operation.",
  invalid_claim_code: "The agent is unknown or claimed, or the code is wrong or has expired.",
  claim_not_confirmed: "No person has confirmed the claim yet.",
  already_claimed: "The agent is already claimed, or cannot be claimed.",
  temporarily_unavailable:
    "Too many requests, or a component is unavailable: repeat the request later.",
  ...assertions,
} as const;

/** An OAuth error code. */
export type OAuthErrorCode = keyof typeof oauthErrorCauses;

/** Schema of an OAuth error (RFC 6749 section 5.2). */
export const OAuthErrorBody = z.object({
  error: z.string().describe("Stable name of the failure."),
  error_description: z.string().optional().describe("What is wrong with this request."),
  next: z.string().optional().describe("After a claim: what to do next."),
  page: z.string().optional().describe("After a claim: where a person claims the agent."),
  start_url: z.string().optional().describe("After a claim: where the agent gets a new code."),
});

/**
 * Schema of a problem under /oauth, which has the members of a problem (RFC 9457) and of an OAuth
 * error.
 */
export const OAuthProblem = z.object({
  error: z.enum(["invalid_request", "temporarily_unavailable"]).describe("As RFC 6749 names it."),
  error_description: z.string().describe("Equal to detail."),
  ...ProblemBody.shape,
});
