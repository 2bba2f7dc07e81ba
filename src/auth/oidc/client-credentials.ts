import { randomBytes } from "node:crypto";
import { type AdapterPayload, errors } from "oidc-provider";
import { fingerprint } from "../../lib/fingerprint.ts";
import { collection, type Stored } from "../../store/port/records.ts";
import { type ClientRecord, clientGroup, clients } from "../agents/agent.ts";
import { isAudienceAllowed, resolveResource } from "../audience.ts";
import { scopeNames } from "../scopes.ts";
import { matchesClientSecret } from "../secrets.ts";
import type { AdapterContext, NewRecord } from "./adapter-context.ts";
import { ownerClaims } from "./end-user.ts";
import { issue } from "./issuance.ts";
import type { AdmitToken } from "./request-state.ts";
import { clientScopeCeiling, type ResourcePolicy } from "./resource-indicators.ts";
import { ACCESS_TOKEN_SECONDS } from "./token-lifetimes.ts";

/** A token response (RFC 6749 section 5.1). */
interface TokenResponse {
  readonly access_token: string;
  /** Seconds. */
  readonly expires_in: number;
  readonly token_type: "Bearer";
  readonly scope: string;
}

/** @returns `undefined` when oidc-provider has to handle the request. */
export type IssueClientCredentials = (
  form: URLSearchParams,
  admitToken: AdmitToken,
) => Promise<TokenResponse | undefined>;

/** Parameters of a simple request. Any other one gives it a meaning that only oidc-provider
 *  handles. */
const members = ["grant_type", "client_id", "client_secret", "scope", "resource"];

/** Random bytes of a token; as many as oidc-provider takes. */
const TOKEN_BYTES = 32;

/** Tokens per call for random bytes: few cost nearly as much as many. */
const TOKENS_AT_ONCE = 128;

const tokens = collection<AdapterPayload>("oidc:ClientCredentials");

/**
 * Issues the token of the simplest request: client_credentials with id and secret in the form.
 * Every agent sends it every hour, and oidc-provider takes five times as long.
 *
 * It never refuses. Anything unusual or wrong, such as an unknown parameter, another authentication
 * method or a scope out of reach, is left to oidc-provider, which then says what it is. The token
 * is stored as oidc-provider stores its own.
 *
 * @throws {Problem} `store_unavailable`, and what `admitToken` throws
 */
export function createClientCredentialsIssuer(
  context: AdapterContext & ResourcePolicy,
): IssueClientCredentials {
  const newToken = createTokens();
  return async (form, admitToken) => {
    if (!isPlain(form)) return undefined;
    const client = await context.records.get(clients, form.get("client_id") ?? "");
    if (client === undefined || !mayAsk(client.value, form.get("client_secret") ?? "")) {
      return undefined;
    }
    const right = rightOf(client.value, form, context);
    return right && give(newToken(), { client, right, admitToken }, context);
  };
}

/** @returns Makes tokens that nobody can guess. */
function createTokens(): () => string {
  let bytes = Buffer.alloc(0);
  return () => {
    if (bytes.length === 0) bytes = randomBytes(TOKENS_AT_ONCE * TOKEN_BYTES);
    const token = bytes.toString("base64url", 0, TOKEN_BYTES);
    bytes = bytes.subarray(TOKEN_BYTES);
    return token;
  };
}

/** What a token is issued for. */
interface Basis {
  readonly client: Stored<ClientRecord>;
  readonly right: Right;
  readonly admitToken: AdmitToken;
}

/** What a token is good for. */
interface Right {
  readonly aud: string;
  readonly scope: string;
}

/** @returns `undefined` when the request asks for what the client may not have. */
function rightOf(
  client: ClientRecord,
  form: URLSearchParams,
  { baseUrl, anonymousScopes }: ResourcePolicy,
): Right | undefined {
  const resource = form.get("resource");
  const most = client.agent.owner?.resource ?? baseUrl;
  const aud = resource === null ? most : resolveResource(resource, baseUrl);
  const text = form.get("scope") ?? "";
  const asked = scopeNames(text);
  const reach: readonly string[] = clientScopeCeiling(client, anonymousScopes);
  const isInReach = reach.length > 0 && asked.every((name) => reach.includes(name));
  if (aud === undefined || !isAudienceAllowed(most, aud) || !isInReach || asked.join(" ") !== text)
    return undefined;
  return { aud, scope: (asked.length === 0 ? reach : asked).join(" ") };
}

function isPlain(form: URLSearchParams): boolean {
  const names = [...form.keys()];
  return (
    form.get("grant_type") === "client_credentials" &&
    new Set(names).size === names.length &&
    names.every((name) => members.includes(name))
  );
}

function mayAsk({ metadata }: ClientRecord, secret: string): boolean {
  const { token_endpoint_auth_method: method, grant_types: grants, client_secret } = metadata;
  return (
    (method === "client_secret_post" || method === "client_secret_basic") &&
    Array.isArray(grants) &&
    grants.includes("client_credentials") &&
    matchesClientSecret(String(client_secret), secret)
  );
}

async function give(
  token: string,
  { client, right, admitToken }: Basis,
  context: AdapterContext,
): Promise<TokenResponse | undefined> {
  const state = { clients: new Map([[client.key, client]]), grants: new Map() };
  try {
    const record = recordOf(token, { client, right });
    await issue({ consumed: [], issued: [record], admitToken }, state, context);
  } catch (error) {
    if (error instanceof errors.OIDCProviderError) return undefined;
    throw error;
  }
  return {
    access_token: token,
    expires_in: ACCESS_TOKEN_SECONDS,
    token_type: "Bearer",
    scope: right.scope,
  };
}

/** The token as oidc-provider would store it. */
function recordOf(token: string, { client, right }: Omit<Basis, "admitToken">): NewRecord {
  // Checked by oidc-provider, which knows no clock but this one; the store's ends the token as well.
  const iat = Math.floor(Date.now() / 1000);
  const extra = ownerClaims(client.value.agent);
  return {
    model: "ClientCredentials",
    collection: tokens,
    key: fingerprint(token),
    value: {
      iat,
      exp: iat + ACCESS_TOKEN_SECONDS,
      kind: "ClientCredentials",
      clientId: client.key,
      ...right,
      ...(extra && { extra }),
    },
    groups: [clientGroup(client.key)],
    ttlMs: ACCESS_TOKEN_SECONDS * 1000,
  };
}
