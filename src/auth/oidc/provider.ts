import type { IncomingMessage, ServerResponse } from "node:http";
import { type ClientMetadata, type Configuration, type JWK, Provider } from "oidc-provider";
import { type Scope, scopes } from "../scopes.ts";
import { isSecretOf } from "../secrets.ts";
import { adaptAnswers } from "./answers.ts";
import { normaliseRegistration } from "./registration.ts";
import { ACCESS_TOKEN_SECONDS, type ResourcePolicy, resourceIndicators } from "./resources.ts";
import { allowOwnTokens } from "./revocation.ts";
import { createStoreAdapter, type StoreAdapterOptions } from "./store-adapter.ts";

interface ProviderOptions extends ResourcePolicy, StoreAdapterOptions {
  /** Members to add to both metadata documents; they cannot replace what the server states. */
  readonly discovery: Readonly<Record<string, unknown>>;
  readonly keys: ProviderKeys;
  /** Told about every failure that is not the caller's, save that the store cannot answer. */
  readonly onError: (error: unknown) => void;
}

/** The keys of the authorization server. Of each kind the first is for what is new, the others
 *  for what was signed before they were replaced. */
interface ProviderKeys {
  /** Private keys of P-256, each with its `kid`. */
  readonly signing: readonly JWK[];
  /** Secrets that sign cookies. */
  readonly cookies: readonly string[];
}

/** Signing algorithm of ID tokens, and so of every key in the key set. */
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

function configuration(options: ProviderOptions): Configuration {
  const { signing, cookies } = options.keys;
  return {
    adapter: createStoreAdapter(options),
    routes,
    features: features(options),
    discovery: {
      revocation_endpoint_auth_methods_supported: clientAuthMethods,
      ...options.discovery,
    },
    jwks: { keys: [...signing] },
    cookies: { keys: [...cookies] },
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
 *
 * All state is in the store, so that another one, with other keys, can take its place at any time.
 */
export function createProvider(options: ProviderOptions): Provider {
  const provider = new Provider(options.baseUrl, configuration(options));
  provider.proxy = true;
  provider.Client.prototype.compareClientSecret = function (presented) {
    return isSecretOf(this.clientSecret, presented);
  };
  adaptAnswers(provider, options.onError);
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
