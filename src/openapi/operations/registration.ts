import { z } from "zod";
import { allScopes, scopeDescriptions } from "../../access/scopes.ts";
import { InstantAnswer } from "../../answers/shared-members.ts";
import { ID_JAG_TOKEN_TYPE, JWT_BEARER_GRANT_TYPE } from "../../auth/assertions/oauth-urns.ts";
import { paths } from "../../lib/paths.ts";
import { LIMIT_HEADERS } from "../headers.ts";
import { jsonContent, type Operation, TEMPORARY_ERRORS } from "../operation.ts";
import { OAUTH_BODY_PROBLEMS, PUBLIC_PROBLEMS } from "../problems.ts";

const Names = z.array(z.string());

const ScopeText = z
  .string()
  .describe(`Names separated by spaces: ${Object.keys(scopeDescriptions).join(", ")}.`);

const Grant = z.enum([
  "client_credentials",
  "authorization_code",
  "refresh_token",
  JWT_BEARER_GRANT_TYPE,
]);

/** Client metadata members that occur in both requests and responses. */
const Metadata = {
  client_name: z
    .string()
    .max(100)
    .optional()
    .describe("Shown to people who are asked for consent."),
  redirect_uris: z
    .array(z.string().meta({ format: "uri" }))
    .max(10)
    .optional()
    .describe("Required for authorization_code: https, a loopback address or a private scheme."),
  token_endpoint_auth_method: z
    .enum(["client_secret_post", "client_secret_basic", "private_key_jwt", "none"])
    .optional()
    .describe("none: a public client, which needs PKCE."),
  scope: ScopeText.optional(),
};

/** Schema of the registration request of a client: an agent or an application (RFC 7591). */
export const RegistrationBody = z.looseObject({
  ...Metadata,
  grant_types: z
    .array(Grant)
    .optional()
    .describe(
      "client_credentials for an agent; authorization_code, unless set, for an application.",
    ),
  response_types: Names.optional().describe(
    "code, or nothing; token is not registered, which the answer says in note.",
  ),
  type: z
    .enum(["anonymous", "agent", "service_auth", "identity_assertion"])
    .optional()
    .describe(
      "The owner of the agent: by default nobody yet; with service_auth the person in login_hint, once they have claimed it; with identity_assertion the person in the assertion.",
    ),
  login_hint: z.string().meta({ format: "email" }).optional().describe("With service_auth."),
  assertion_type: z.literal(ID_JAG_TOKEN_TYPE).optional().describe("With identity_assertion."),
  assertion: z.string().optional().describe("With identity_assertion: an ID-JAG."),
});

const Unix = z.int().min(0);

/** Schema that states whether a person has claimed the agent, and how a person can claim it. */
const ClaimState = z.object({
  status: z.enum(["unclaimed", "claimed"]),
  code: z
    .string()
    .optional()
    .describe("Claim code, to be given to the person who claims the agent; shown once."),
  expires_at: InstantAnswer.optional().describe("When the code expires."),
  claimed_at: InstantAnswer.optional(),
  url: z.string().optional().describe("Endpoint that completes a claim."),
  start_url: z.string().optional().describe("Endpoint where the agent gets a new code."),
  page: z.string().optional().describe("Page where a person claims the agent with the code."),
  who_can_claim: z
    .string()
    .optional()
    .describe("Who can sign in there, and what anyone else does first."),
});

/** A registration response (RFC 7591 section 3.2.1). */
export const RegisteredClient = z.object({
  client_id: z.string(),
  client_secret: z.string().optional().describe("Shown once; absent for public clients."),
  client_id_issued_at: Unix.describe("Unix time in seconds."),
  client_secret_expires_at: Unix.optional().describe("Unix time in seconds; 0: never."),
  ...Metadata,
  grant_types: z.array(Grant).describe("The granted grant types."),
  response_types: Names.describe("code, or nothing."),
  scope: ScopeText.describe("What was granted."),
  registration_client_uri: z.string().meta({ format: "uri" }),
  registration_access_token: z.string().describe("Lets the client manage its registration."),
  registration_expires_at: Unix.describe(
    "When the registration and its secret expire, in Unix seconds; 0: never. The first token and a claim extend it.",
  ),
  identity_type: z.enum(["anonymous", "agent", "service_auth", "identity_assertion"]),
  scopes: z
    .object({ pre_claim: z.array(z.enum(allScopes)), post_claim: z.array(z.enum(allScopes)) })
    .describe("Scopes that the client's own tokens can have before and after a claim."),
  claim: ClaimState.optional().describe("Absent for clients that cannot be claimed."),
  note: z
    .string()
    .optional()
    .describe("What was requested and not registered, with the reason; absent if nothing."),
  application_type: z.enum(["web", "native"]).optional(),
  subject_type: z.string().optional(),
  require_auth_time: z.boolean().optional(),
  id_token_signed_response_alg: z.string().optional(),
});

const ClientId = z.object({
  client_id: z.string().describe("The client_id of the client itself."),
});

const managementCommon = {
  path: `${paths.register}/{client_id}`,
  tag: "Access",
  access: { anyOf: [{ registrationToken: [] }] },
  allowsAnyOrigin: true,
  pathMembers: ClientId,
} as const;

const CLIENT = {
  content: [jsonContent(RegisteredClient)],
  headers: LIMIT_HEADERS,
} as const;

const BODY = jsonContent(RegistrationBody);

const METADATA_ERRORS = [
  "invalid_client_metadata",
  "invalid_redirect_uri",
  "invalid_scope",
  "unapproved_software_statement",
] as const;

/** Operations for client registration and management. */
export const registrationOperations = [
  {
    id: "register_client",
    limit: { per: "address", name: "registrations" },
    method: "post",
    path: paths.register,
    tag: "Access",
    summary: "Register an agent or an application",
    description:
      "Dynamic client registration (RFC 7591); no credential is needed. Keep `client_secret` and `registration_access_token`: they are not shown again. The registration of an agent expires after a day without a token, and after 30 days without a claim.",
    access: "public",
    allowsAnyOrigin: true,
    body: BODY,
    answers: { 201: { description: "The client as it was registered.", ...CLIENT } },
    errorsByStatus: {
      400: [
        "invalid_request",
        ...METADATA_ERRORS,
        "unsupported_identity_type",
        "invalid_login_hint",
        "issuer_not_enabled",
        "invalid_signature",
        "invalid_audience",
        "invalid_client_id",
        "expired",
        "replay_detected",
        "invalid_target",
      ],
      401: ["login_required"],
      ...TEMPORARY_ERRORS,
    },
    problems: OAUTH_BODY_PROBLEMS,
  },
  {
    ...managementCommon,
    id: "get_client",
    method: "get",
    summary: "Read a registration",
    description: "The client's own registration (RFC 7592), without its secret.",
    answers: { 200: { description: "The client as it is registered.", ...CLIENT } },
    errorsByStatus: { 401: ["invalid_token"], ...TEMPORARY_ERRORS },
    problems: PUBLIC_PROBLEMS,
  },
  {
    ...managementCommon,
    id: "update_client",
    limit: { per: "client", name: "changes" },
    method: "put",
    summary: "Replace a registration",
    description:
      "Replaces all metadata of the client. The response has a new `registration_access_token`, which replaces the earlier one.",
    body: BODY,
    answers: { 200: { description: "The client as it is registered now.", ...CLIENT } },
    errorsByStatus: {
      400: ["invalid_request", ...METADATA_ERRORS],
      401: ["invalid_token"],
      ...TEMPORARY_ERRORS,
    },
    problems: OAUTH_BODY_PROBLEMS,
  },
  {
    ...managementCommon,
    id: "delete_client",
    limit: { per: "client", name: "changes" },
    method: "delete",
    summary: "Delete a registration",
    description: "Deletes the client with its tokens and alerts.",
    answers: { 204: { description: "The registration was deleted.", headers: LIMIT_HEADERS } },
    errorsByStatus: { 401: ["invalid_token"], ...TEMPORARY_ERRORS },
    problems: PUBLIC_PROBLEMS,
  },
] as const satisfies readonly Operation[];
