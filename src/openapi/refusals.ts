import { z } from "zod";
import { refusals } from "../auth/assertions/assertion-claims.ts";
import { Problem } from "./problems.ts";

const { issuer_unreachable: _, invalid_request: __, ...assertions } = refusals;

/** OAuth error codes with their meaning here. */
export const oauthErrors = {
  invalid_request: "A member is missing, repeated or malformed.",
  invalid_client: "The client is unknown, or the proof of it is wrong.",
  invalid_grant: "The code, refresh token or assertion is wrong, used or expired.",
  unauthorized_client: "The client is not registered for this grant.",
  unsupported_grant_type: "There is no such grant here.",
  invalid_scope: "Nothing of the scope can be granted.",
  invalid_target: "The resource is none of this service.",
  invalid_client_metadata: "A member of the registration is not accepted.",
  invalid_redirect_uri: "A redirect address is not accepted.",
  unapproved_software_statement: "No signer of software statements is trusted.",
  unsupported_identity_type: "There is no such type.",
  invalid_login_hint: "`login_hint` is no e-mail address.",
  invalid_token: "The token is missing, unknown, expired or revoked.",
  insufficient_scope: "The token lacks a scope that this needs.",
  access_denied: "The credential is good, but not for this.",
  invalid_claim_code: "The agent is unknown or claimed, or the code is wrong or has expired.",
  claim_not_confirmed: "No person has confirmed the claim yet.",
  already_claimed: "The agent is claimed, or cannot be.",
  temporarily_unavailable: "Too many requests, or a part does not answer: the same will do later.",
  ...assertions,
} as const;

/** An OAuth error code. */
export type OAuthError = keyof typeof oauthErrors;

/** The body of an error under /oauth (RFC 6749 section 5.2). */
export const Refusal = z.object({
  error: z.string().describe("Stable name of the failure."),
  error_description: z.string().optional().describe("What is wrong with this request."),
  page: z.string().optional().describe("After a claim: where a person claims the agent."),
  start_url: z.string().optional().describe("After a claim: where the agent gets a new code."),
});

/** The body of a problem under /oauth, which has the members of both formats. */
export const OAuthProblem = z.object({
  error: z.enum(["invalid_request", "temporarily_unavailable"]).describe("As RFC 6749 names it."),
  error_description: z.string().describe("Equal to detail."),
  ...Problem.shape,
});
