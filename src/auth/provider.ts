import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { exportJWK, generateKeyPair } from "jose";
import { type ClientMetadata, type Configuration, type JWK, Provider } from "oidc-provider";
import { createMemoryAdapter } from "./memory-adapter.ts";
import { normaliseRegistration } from "./registration.ts";
import { ACCESS_TOKEN_SECONDS, type ResourcePolicy, resourceIndicators } from "./resources.ts";
import { allowOwnTokens } from "./revocation.ts";
import { type Scope, scopes } from "./scopes.ts";

interface ProviderOptions extends ResourcePolicy {
  /** Members to add to both metadata documents; they cannot replace what the server states. */
  readonly discovery: Readonly<Record<string, unknown>>;
  /** The clock that decides what has expired. */
  readonly now: () => Date;
}

/** Signing algorithm of ID tokens, and so of the one key in the key set. */
const SIGNING_ALGORITHM = "ES256";

/** Seconds a person has to finish an authorization request. */
const INTERACTION_SECONDS = 600;

/** How a client may authenticate; `none` is for public clients that use PKCE. */
const clientAuthMethods = ["client_secret_post", "client_secret_basic", "none"] as const;

const routes = {
  authorization: "/oauth/authorize",
  token: "/oauth/token",
  registration: "/oauth/register",
  revocation: "/oauth/revoke",
  jwks: "/.well-known/jwks.json",
};

async function signingKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair(SIGNING_ALGORITHM, { extractable: true });
  return { ...(await exportJWK(privateKey)), alg: SIGNING_ALGORITHM, use: "sig" } as JWK;
}

/** The hook runs before validation on every registration and update. It needs a member of its own
 *  to run for; without `ctx` a stored client is being loaded, which was normalised before. */
function clientMetadata(anonymousScopes: readonly Scope[]) {
  const properties = ["software_id", "software_version"];
  return {
    properties,
    validator(ctx: unknown, member: string, _value: unknown, metadata: ClientMetadata): void {
      if (ctx === undefined || member !== properties[0]) return;
      Object.assign(metadata, normaliseRegistration({ ...metadata }, anonymousScopes));
    },
  };
}

function features(options: ProviderOptions): Configuration["features"] {
  return {
    clientCredentials: { enabled: true },
    registration: { enabled: true },
    registrationManagement: { enabled: true, rotateRegistrationAccessToken: true },
    revocation: { enabled: true, allowedPolicy: allowOwnTokens },
    resourceIndicators: resourceIndicators(options, Object.keys(scopes).join(" ")),
    devInteractions: { enabled: false },
    dPoP: { enabled: false },
    pushedAuthorizationRequests: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    userinfo: { enabled: false },
  };
}

async function configuration(options: ProviderOptions): Promise<Configuration> {
  return {
    adapter: createMemoryAdapter(options.now),
    routes,
    features: features(options),
    discovery: {
      revocation_endpoint_auth_methods_supported: clientAuthMethods,
      ...options.discovery,
    },
    jwks: { keys: [await signingKey()] },
    cookies: { keys: [randomBytes(32).toString("base64url")] },
    scopes: Object.keys(scopes),
    responseTypes: ["code"],
    clientAuthMethods,
    clientDefaults: { id_token_signed_response_alg: SIGNING_ALGORITHM },
    enabledJWA: { idTokenSigningAlgValues: [SIGNING_ALGORITHM] },
    extraClientMetadata: clientMetadata(options.anonymousScopes),
    pkce: { required: () => true },
    ttl: { ClientCredentials: ACCESS_TOKEN_SECONDS, Interaction: INTERACTION_SECONDS },
    interactions: { url: (_ctx, { uid }) => `/oauth/interaction/${uid}` },
    // No cookie or other ambient credential counts, so a token may be asked for from any page.
    clientBasedCORS: () => true,
    // As data, never as a page: nothing of the request can become markup.
    renderError(ctx, out) {
      ctx.body = out;
    },
  };
}

/**
 * The authorization server: open dynamic registration with management (RFC 7591, 7592), client
 * credentials with opaque tokens, revocation (RFC 7009) and both metadata documents.
 *
 * It takes its own address from the forwarded headers of the request, so whoever mounts it must
 * overwrite those with the configured address.
 */
export async function createProvider(options: ProviderOptions): Promise<Provider> {
  const provider = new Provider(options.baseUrl, await configuration(options));
  provider.proxy = true;
  return provider;
}

/** Ends a person's part of an authorization request: the client is told why by a redirect. */
export async function refuseInteraction(
  provider: Provider,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  await provider.interactionFinished(req, res, {
    error: "access_denied",
    error_description: "this server has no user accounts yet; use client_credentials",
  });
}
