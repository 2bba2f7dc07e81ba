import { randomBytes } from "node:crypto";
import { errors } from "oidc-provider";
import { isAudienceAllowed, resolveResource } from "../../access/audience.ts";
import { parseScopeNames } from "../../access/scopes.ts";
import { matchesClientSecret } from "../../access/secrets.ts";
import { fingerprint } from "../../lib/fingerprint.ts";
import { type ClientRecord, clients } from "../../principals/agents/agent.ts";
import type { Stored } from "../../store/port/records.ts";
import type { AdapterContext, NewModelRecord } from "./adapter-context.ts";
import { ownerClaims } from "./end-user.ts";
import { commitIssuance } from "./issuance.ts";
import { modelCollection } from "./model-collection.ts";
import type { AdmitToken } from "./request-state.ts";
import { clientScopeCeiling, type ResourcePolicy } from "./resource-indicators.ts";
import { ACCESS_TOKEN_LIFETIME_SECONDS } from "./token-lifetimes.ts";

/** A token response (RFC 6749 section 5.1). */
interface TokenResponse {
  readonly access_token: string;
  /** Lifetime in seconds. */
  readonly expires_in: number;
  readonly token_type: "Bearer";
  readonly scope: string;
}

/** Issues a token for a token request. @returns `undefined` when oidc-provider must handle the
 *  request. */
export type IssueClientCredentials = (
  form: URLSearchParams,
  admitToken: AdmitToken,
) => Promise<TokenResponse | undefined>;

/** Parameters of a plain request. Requests with other parameters are left to oidc-provider. */
const plainParameters = ["grant_type", "client_id", "client_secret", "scope", "resource"];

/** Length of a token in random bytes, the same as in oidc-provider. */
const TOKEN_BYTES = 32;

/**
 * Number of tokens generated per call of `randomBytes`: a call costs nearly the same for few bytes
 * as for many.
 */
const TOKENS_PER_BATCH = 128;

const tokens = modelCollection("ClientCredentials");

/**
 * Creates the fast path of the token endpoint, for client_credentials requests with id and secret
 * in the form. Every agent sends such a request every hour, and oidc-provider takes five times as
 * long.
 *
 * The fast path never rejects a request. An unusual or invalid request, for example with an unknown
 * parameter, another authentication method or a scope that is not allowed, is left to
 * oidc-provider, which returns the error. The token is stored in the format of oidc-provider.
 *
 * @throws {Problem} `store_unavailable`, and the problems of `admitToken`.
 */
export function createClientCredentialsIssuer(
  context: AdapterContext & ResourcePolicy,
): IssueClientCredentials {
  const newToken = createTokenGenerator();
  return async (form, admitToken) => {
    if (!isPlain(form)) return undefined;
    const client = await context.records.get(clients, form.get("client_id") ?? "");
    if (client === undefined || !isAuthenticated(client.value, form.get("client_secret") ?? "")) {
      return undefined;
    }
    const claims = tokenClaims(client.value, form, context);
    return claims && issueToken(newToken(), { client, claims, admitToken }, context);
  };
}

/** @returns A function that generates random tokens. */
function createTokenGenerator(): () => string {
  let bytes = Buffer.alloc(0);
  return () => {
    if (bytes.length === 0) bytes = randomBytes(TOKENS_PER_BATCH * TOKEN_BYTES);
    const token = bytes.toString("base64url", 0, TOKEN_BYTES);
    bytes = bytes.subarray(TOKEN_BYTES);
    return token;
  };
}

/** Input of `issueToken`. */
interface TokenInput {
  readonly client: Stored<ClientRecord>;
  readonly claims: TokenClaims;
  readonly admitToken: AdmitToken;
}

/** Audience and scope of a token. */
interface TokenClaims {
  readonly aud: string;
  readonly scope: string;
}

/**
 * The audience and scope for a token request.
 * @returns `undefined` when the client may not have them.
 */
function tokenClaims(
  client: ClientRecord,
  form: URLSearchParams,
  { baseUrl, anonymousScopes }: ResourcePolicy,
): TokenClaims | undefined {
  const resource = form.get("resource");
  const most = client.agent.owner?.resource ?? baseUrl;
  const aud = resource === null ? most : resolveResource(resource, baseUrl);
  const text = form.get("scope") ?? "";
  const requested = parseScopeNames(text);
  const reach: readonly string[] = clientScopeCeiling(client, anonymousScopes);
  const isInReach = reach.length > 0 && requested.every((name) => reach.includes(name));
  if (
    aud === undefined ||
    !isAudienceAllowed(most, aud) ||
    !isInReach ||
    requested.join(" ") !== text
  )
    return undefined;
  return { aud, scope: (requested.length === 0 ? reach : requested).join(" ") };
}

function isPlain(form: URLSearchParams): boolean {
  const names = [...form.keys()];
  return (
    form.get("grant_type") === "client_credentials" &&
    new Set(names).size === names.length &&
    names.every((name) => plainParameters.includes(name))
  );
}

function isAuthenticated({ metadata }: ClientRecord, secret: string): boolean {
  const { token_endpoint_auth_method: method, grant_types: grants, client_secret } = metadata;
  return (
    (method === "client_secret_post" || method === "client_secret_basic") &&
    Array.isArray(grants) &&
    grants.includes("client_credentials") &&
    matchesClientSecret(String(client_secret), secret)
  );
}

async function issueToken(
  token: string,
  { client, claims, admitToken }: TokenInput,
  context: AdapterContext,
): Promise<TokenResponse | undefined> {
  const state = { clients: new Map([[client.key, client]]), grants: new Map() };
  try {
    const record = recordOf(token, { client, claims });
    await commitIssuance({ consumed: [], issued: [record], admitToken }, state, context);
  } catch (error) {
    if (error instanceof errors.OIDCProviderError) return undefined;
    throw error;
  }
  return {
    access_token: token,
    expires_in: ACCESS_TOKEN_LIFETIME_SECONDS,
    token_type: "Bearer",
    scope: claims.scope,
  };
}

/** The record that oidc-provider would store for the token. */
function recordOf(
  token: string,
  { client, claims }: Omit<TokenInput, "admitToken">,
): NewModelRecord {
  // oidc-provider checks `exp` against the system clock. The store also expires the token, by its
  // own clock.
  const iat = Math.floor(Date.now() / 1000);
  const extra = ownerClaims(client.value.agent);
  return {
    model: "ClientCredentials",
    collection: tokens,
    key: fingerprint(token),
    value: {
      iat,
      exp: iat + ACCESS_TOKEN_LIFETIME_SECONDS,
      kind: "ClientCredentials",
      clientId: client.key,
      ...claims,
      ...(extra && { extra }),
    },
    ttlMs: ACCESS_TOKEN_LIFETIME_SECONDS * 1000,
  };
}
