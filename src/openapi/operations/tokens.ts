import { z } from "zod";
import { JWT_BEARER_GRANT_TYPE } from "../../auth/assertions/oauth-urns.ts";
import { paths } from "../../lib/paths.ts";
import { LIMIT_HEADERS } from "../headers.ts";
import { jsonResponse, type Operation, TEMPORARY_ERRORS } from "../operation.ts";
import { OAUTH_BODY_PROBLEMS, PUBLIC_PROBLEMS } from "../problems.ts";

/** Media type of OAuth requests (RFC 6749 section 4.1.3). */
export const FORM_MEDIA_TYPE = "application/x-www-form-urlencoded";

const Resource = z
  .string()
  .optional()
  .describe("The base URL (default) or that of the MCP endpoint (RFC 8707).");

const ClientAuthentication = {
  client_id: z.string().optional(),
  client_secret: z
    .string()
    .optional()
    .describe("With client_secret_post; client_secret_basic sends it in the header."),
};

/** Response for a browser in place of a JSON error. */
const ERROR_PAGE = {
  description: "With `Accept: text/html`, a page that explains the failure and the next step.",
  content: [{ mediaType: "text/html", schema: z.string() }],
};

/** Schema of a token request (RFC 6749). */
export const TokenRequest = z.looseObject({
  grant_type: z.enum([
    "client_credentials",
    "authorization_code",
    "refresh_token",
    JWT_BEARER_GRANT_TYPE,
  ]),
  ...ClientAuthentication,
  scope: z
    .string()
    .optional()
    .describe("A subset of the registered scopes; by default all of them."),
  resource: Resource,
  code: z.string().optional().describe("With authorization_code."),
  redirect_uri: z
    .string()
    .optional()
    .describe("With authorization_code: the same as in the authorization request."),
  code_verifier: z.string().optional().describe("With authorization_code (RFC 7636)."),
  refresh_token: z.string().optional().describe("With refresh_token; each can be used once."),
  assertion: z.string().optional().describe("With jwt-bearer: an ID-JAG."),
});

/** Schema of a token response (RFC 6749 section 5.1). */
export const AccessToken = z.object({
  access_token: z.string(),
  token_type: z.literal("Bearer"),
  expires_in: z.int().min(1).describe("Seconds."),
  scope: z.string().describe("The granted scopes, separated by spaces."),
  refresh_token: z.string().optional().describe("With authorization_code and refresh_token."),
  id_token: z.string().optional().describe("If the scope openid was requested."),
});

/** Schema of a revocation request (RFC 7009). */
export const RevocationBody = z.looseObject({
  token: z.string().describe("An access token, a refresh token, or an API key."),
  token_type_hint: z.string().optional().describe("access_token or refresh_token."),
  ...ClientAuthentication,
});

/** Maximum length of a parameter that only the client interprets, in characters. */
export const MAX_OPAQUE_CHARACTERS = 1024;

const AuthorizationQuery = z.object({
  client_id: z.string().describe("A registered client, or the URL of its metadata document."),
  response_type: z.literal("code"),
  redirect_uri: z.string().describe("A redirect URI that the client registered."),
  code_challenge: z.string().describe("RFC 7636; required for every client."),
  code_challenge_method: z.literal("S256"),
  scope: z.string().optional().describe("By default all registered scopes."),
  state: z.string().max(MAX_OPAQUE_CHARACTERS).optional().describe("Returned unchanged."),
  resource: Resource,
  nonce: z.string().max(MAX_OPAQUE_CHARACTERS).optional().describe("With the scope openid."),
  prompt: z.string().optional().describe("none, login or consent."),
});

const UserInfo = z.object({ sub: z.string().describe("Id of the account, as in the ID token.") });

/**
 * Members that the GET and POST operations have in common (OpenID Connect Core 1.0 section 5.3.1).
 */
const userInfo = {
  path: paths.userInfo,
  tag: "Access",
  summary: "Read the claims of the signed-in person",
  description: "For an access token with the scope `openid`, which a person consented to.",
  access: { anyOf: [{ openIdConnect: ["openid"] }, { bearer: [] }] },
  answers: {
    200: jsonResponse("The claims of the person.", UserInfo, LIMIT_HEADERS),
  },
  errorsByStatus: {
    401: ["invalid_token"],
    403: ["insufficient_scope"],
    503: TEMPORARY_ERRORS[503],
  },
  problems: PUBLIC_PROBLEMS,
} as const;

/** The operations of the UserInfo endpoint. */
export const userInfoOperations = [
  { id: "get_user_info", method: "get", allowsAnyOrigin: true, ...userInfo },
  { id: "post_user_info", method: "post", ...userInfo },
] as const satisfies readonly Operation[];

/** The operation of the token endpoint. */
export const tokenOperation = {
  id: "get_token",
  limit: { per: "client", name: "token-requests" },
  method: "post",
  path: paths.token,
  tag: "Access",
  summary: "Get an access token",
  description:
    "The client authenticates in the form, by HTTP Basic, or with a signed assertion (RFC 7523). No other credential is needed.",
  access: "public",
  allowsAnyOrigin: true,
  body: { mediaType: FORM_MEDIA_TYPE, schema: TokenRequest },
  answers: {
    200: jsonResponse("A token.", AccessToken, LIMIT_HEADERS),
  },
  errorsByStatus: {
    400: [
      "invalid_request",
      "invalid_grant",
      "unauthorized_client",
      "unsupported_grant_type",
      "invalid_scope",
      "invalid_target",
    ],
    401: ["invalid_client"],
    ...TEMPORARY_ERRORS,
  },
  problems: OAUTH_BODY_PROBLEMS,
} as const satisfies Operation;

/** The operations of the revocation and authorization endpoints. */
export const authorizationOperations = [
  {
    id: "revoke_token",
    method: "post",
    path: paths.revoke,
    tag: "Access",
    summary: "Revoke a token or an API key",
    description:
      "The holder of a credential can revoke it. A client that authenticates can only revoke its own. Unknown and expired tokens get the same response (RFC 7009).",
    access: "public",
    allowsAnyOrigin: true,
    body: { mediaType: FORM_MEDIA_TYPE, schema: RevocationBody },
    answers: { 200: { description: "The credential is no longer valid.", headers: LIMIT_HEADERS } },
    errorsByStatus: {
      400: ["invalid_request"],
      401: ["invalid_client"],
      ...TEMPORARY_ERRORS,
    },
    problems: OAUTH_BODY_PROBLEMS,
  },
  {
    id: "authorize",
    method: "get",
    path: paths.authorize,
    tag: "Access",
    summary: "Request access from a person",
    description:
      "Authorization code flow with PKCE, to be opened in a browser: the person signs in and decides, and the browser is sent to `redirect_uri` with `code`, `state` and `iss`, or with `error`.",
    access: "public",
    query: AuthorizationQuery,
    answers: {
      303: {
        description:
          "Redirect to the pages where the person decides, or to `redirect_uri` with `error`.",
        content: [{ mediaType: "text/html", schema: z.string() }],
        headers: ["Location", ...LIMIT_HEADERS],
      },
      400: ERROR_PAGE,
      429: ERROR_PAGE,
      503: ERROR_PAGE,
    },
    errorsByStatus: {
      400: ["invalid_request", "invalid_client", "invalid_redirect_uri"],
      ...TEMPORARY_ERRORS,
    },
    problems: PUBLIC_PROBLEMS,
  },
] as const satisfies readonly Operation[];
