import { z } from "zod";
import { InstantAnswer } from "../../answers/shared-members.ts";
import { paths } from "../../lib/paths.ts";
import { EmailAddress } from "../../mail/email-address.ts";
import { LIMIT_HEADERS } from "../headers.ts";
import { jsonContent, jsonResponse, type Operation, TEMPORARY_ERRORS } from "../operation.ts";
import { OAUTH_BODY_PROBLEMS } from "../problems.ts";

/** Maximum length of an agent id, in characters; the ids of this service are much shorter. */
export const MAX_ID_CHARACTERS = 200;

/** Maximum length of a code in characters, including any separators between its 8 characters. */
export const MAX_CODE_CHARACTERS = 64;

const AgentId = z
  .string()
  .max(MAX_ID_CHARACTERS)
  .refine((id) => /^[!-~]+$/.test(id))
  .describe("The client_id of the agent.");

/**
 * Schema of a request that completes a claim, which makes a person the owner of an agent. Unknown
 * members are ignored.
 */
export const ClaimBody = z.object({
  agent_id: AgentId,
  claim_code: z
    .string()
    .min(1)
    .max(MAX_CODE_CHARACTERS)
    .describe("8 characters; upper and lower case, spaces and hyphens make no difference."),
});

/** Schema of the response to a completed claim. */
export const ClaimedBody = z.object({
  agent_id: z.string(),
  status: z.literal("claimed"),
  identity_type: z.enum(["anonymous", "agent", "service_auth", "identity_assertion"]),
  subject: z.string().describe("The account that owns it."),
  scope: z.string().describe("Scopes that its tokens can have from now on."),
  claimed_at: InstantAnswer,
  claimed_through: z
    .string()
    .optional()
    .describe(
      "The client_id of the application that claimed it; the claim ends with the application's access.",
    ),
  registration_client_uri: z.string().meta({ format: "uri" }).optional(),
  registration_access_token: z
    .string()
    .optional()
    .describe(
      "For the caller that completed the claim, shown once; it replaces the earlier one (RFC 7592).",
    ),
});

/** Schema of a request for a new code with which a person can claim an agent. */
export const ClaimStartBody = z.object({
  agent_id: AgentId,
  login_hint: z
    .string()
    .meta({ format: "email" })
    .pipe(EmailAddress)
    .optional()
    .describe("Email address of the only person who can claim it."),
});

/** Schema of the response with a new claim code. */
export const ClaimStartedBody = z.object({
  agent_id: z.string(),
  status: z.literal("pending_claim"),
  claim: z.object({
    code: z.string().describe("Code with which a person completes the claim."),
    expires_at: InstantAnswer,
  }),
  verification_uri: z
    .string()
    .meta({ format: "uri" })
    .describe("Page where a person confirms, and gets a code to tell the agent."),
  who_can_claim: z.string().describe("Who can sign in there, and what anyone else does first."),
  note: z.string().describe("What becomes of the code before it."),
  expires_at: InstantAnswer,
});

const common = {
  method: "post",
  tag: "Access",
  access: { anyOf: [{ oauth2: [] }, { bearer: [] }, { registrationToken: [] }] },
  limit: { per: "client", name: "claims" },
  allowsAnyOrigin: true,
  problems: OAUTH_BODY_PROBLEMS,
} as const;

/** The operation that completes a claim. */
export const claimAgent = {
  ...common,
  id: "claim_agent",
  path: paths.claim,
  summary: "Complete a claim",
  description:
    "Makes a person the owner of an agent. Takes the person's token, from a sign-in within five minutes, and the agent's code; or the agent's token and the code that was shown to the person. The agent's earlier tokens are revoked, including its registration access token; the response has a new one. An agent that an application claims with a person's token is deleted with that person's grant to the application.",
  body: jsonContent(ClaimBody),
  answers: {
    200: jsonResponse("The agent is claimed.", ClaimedBody, LIMIT_HEADERS),
  },
  errorsByStatus: {
    400: ["invalid_request", "invalid_claim_code"],
    401: ["invalid_token"],
    403: ["access_denied"],
    409: ["claim_not_confirmed"],
    ...TEMPORARY_ERRORS,
  },
} as const satisfies Operation;

/** The operation that gives an agent a new claim code. */
export const startClaim = {
  ...common,
  id: "start_claim",
  path: paths.claimStart,
  summary: "Start a claim",
  description:
    "Takes the agent's own token or its registration access token. The code is valid for ten minutes and five attempts; it replaces the previous one.",
  body: jsonContent(ClaimStartBody),
  answers: {
    200: jsonResponse("A new code.", ClaimStartedBody, LIMIT_HEADERS),
  },
  errorsByStatus: {
    400: ["invalid_request"],
    401: ["invalid_token"],
    403: ["access_denied"],
    409: ["already_claimed"],
    ...TEMPORARY_ERRORS,
  },
} as const satisfies Operation;

/** Operations for claiming an agent. */
export const claimOperations = [claimAgent, startClaim] as const;
