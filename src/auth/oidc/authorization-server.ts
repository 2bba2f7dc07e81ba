import { type Configuration, type JWK, Provider } from "oidc-provider";
import { createAuditor } from "../../access/auditor.ts";
import { type Scope, scopeDescriptions } from "../../access/scopes.ts";
import { matchesClientSecret } from "../../access/secrets.ts";
import { paths } from "../../lib/paths.ts";
import type { Limits } from "../../limits/limits.ts";
import type { AccountService } from "../../principals/accounts/accounts.ts";
import type { BrowserSession } from "../../principals/accounts/browser-sessions.ts";
import type { ClaimService } from "../../principals/agents/claims.ts";
import type { UnclaimedCapacity } from "../../principals/agents/unclaimed-capacity.ts";
import type { Records } from "../../store/port/records.ts";
import type { AssertionVerifier } from "../assertions/id-jag.ts";
import { checkAssertionExpiry } from "./client-keys.ts";
import {
  confidentialGrantTypes,
  createClientMetadataHook,
  idTokenAlgorithms,
} from "./client-metadata.ts";
import { extendStoredGrant, refreshTokenPolicy } from "./consent.ts";
import {
  createAccountFinder,
  type EndUserLookup,
  endStaleSessions,
  extraTokenClaims,
  promptPolicy,
} from "./end-user.ts";
import { delegateAuthorizationErrors, restrictErrorRedirects } from "./error-redirects.ts";
import { commitIssuancesOnResponse } from "./issuance.ts";
import { registerJwtBearerGrant } from "./jwt-bearer.ts";
import {
  createLimitedFetch,
  type GlobalFetch,
  metadataDocumentFeature,
} from "./metadata-documents.ts";
import { isAllowedRedirect } from "./redirect-uris.ts";
import { prefixRefreshTokens } from "./refresh-token-families.ts";
import { addIdentitiesToRegistration, newClientId } from "./registration-endpoint.ts";
import { personalScopes, resourceIndicatorFeature } from "./resource-indicators.ts";
import { correctResponses } from "./response-corrections.ts";
import { mayRevokeToken } from "./revocation.ts";
import { createStoreAdapter } from "./store-adapter.ts";
import { tokenLifetimeSeconds } from "./token-lifetimes.ts";
import { auditRejectedTokenRequests } from "./token-rejection-audit.ts";

/** Dependencies of `createAuthorizationServer`. */
export interface AuthorizationServerOptions {
  /** Public origin, without a trailing slash; also the issuer identifier. */
  readonly baseUrl: string;
  /** The scopes of an agent without an owner. */
  readonly anonymousScopes: readonly Scope[];
  readonly claims: ClaimService;
  readonly verifier: AssertionVerifier;
  /** Hashes a network address. Equal addresses have equal hashes. */
  readonly hashAddress: (address: string) => string;
  readonly now: () => Date;
  /**
   * Finds the session of a browser.
   * @param cookie The browser's Cookie header.
   */
  readonly findSession: (cookie: string | undefined) => Promise<BrowserSession | undefined>;
  readonly records: Records;
  readonly accounts: AccountService;
  /**
   * Members added to the metadata documents of OAuth (RFC 8414) and OpenID Connect. They cannot
   * replace the server's own members.
   */
  readonly extraMetadata: Readonly<Record<string, unknown>>;
  /** The first key of each kind signs; the others verify what was signed before a rotation. */
  readonly keys: {
    /** Private P-256 and RSA keys, each with its `kid`. */
    readonly signing: readonly JWK[];
    /** Secrets that sign cookies. */
    readonly cookies: readonly string[];
  };
  readonly limits: Limits;
  /** Limits the number of clients without an owner. */
  readonly capacity: UnclaimedCapacity;
  /** Fetches URLs that clients supply, but rejects addresses within the operator's network. */
  readonly fetch: GlobalFetch;
  /** Called with every internal error except an unavailable store. */
  readonly onError: (error: unknown) => void;
}

/** Default signing algorithm of ID tokens (OpenID Connect Dynamic Client Registration 1.0 section
 *  2). */
const DEFAULT_SIGNING_ALGORITHM = "RS256";

/** Signing algorithms of client assertions (private_key_jwt). */
const clientSigningAlgorithms = ["ES256", "ES384", "EdDSA", "Ed25519", "PS256", "RS256"] as const;

/** Client authentication methods; `none` is for public clients, which use PKCE. */
const clientAuthMethods = [
  "client_secret_post",
  "client_secret_basic",
  "private_key_jwt",
  "none",
] as const;

const routes = {
  authorization: "/oauth/authorize",
  token: "/oauth/token",
  registration: "/oauth/register",
  revocation: "/oauth/revoke",
  jwks: "/.well-known/jwks.json",
};

function features(options: AuthorizationServerOptions): Configuration["features"] {
  return {
    clientCredentials: { enabled: true },
    clientIdMetadataDocument: metadataDocumentFeature,
    registration: { enabled: true, idFactory: newClientId },
    registrationManagement: { enabled: true, rotateRegistrationAccessToken: true },
    revocation: { enabled: true, allowedPolicy: mayRevokeToken },
    resourceIndicators: resourceIndicatorFeature(options),
    devInteractions: { enabled: false },
    dPoP: { enabled: false },
    pushedAuthorizationRequests: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    // oidc-provider's endpoint rejects tokens for a resource, so `userInfoOf` answers instead.
    userinfo: { enabled: false },
  };
}

/** oidc-provider settings for tokens. */
function tokens(people: EndUserLookup): Configuration {
  return {
    ttl: tokenLifetimeSeconds,
    extraTokenClaims,
    findAccount: createAccountFinder(people),
    // A grant lasts until the person or the client revokes it, not until a browser session ends.
    expiresWithSession: () => false,
    ...refreshTokenPolicy,
    pkce: { required: () => true },
  };
}

function configuration(options: AuthorizationServerOptions): Configuration {
  const { signing, cookies } = options.keys;
  return {
    ...tokens(options),
    routes,
    features: features(options),
    discovery: {
      revocation_endpoint_auth_methods_supported: clientAuthMethods,
      userinfo_endpoint: options.baseUrl + paths.userInfo,
      ...options.extraMetadata,
    },
    jwks: { keys: [...signing] },
    cookies: { keys: [...cookies] },
    scopes: [...personalScopes, ...Object.keys(scopeDescriptions)],
    responseTypes: ["code"],
    clientAuthMethods,
    assertJwtClientAuthClaimsAndHeader: checkAssertionExpiry,
    clientDefaults: { id_token_signed_response_alg: DEFAULT_SIGNING_ALGORITHM },
    enabledJWA: {
      idTokenSigningAlgValues: idTokenAlgorithms,
      clientAuthSigningAlgValues: clientSigningAlgorithms,
    },
    extraClientMetadata: createClientMetadataHook(options.anonymousScopes),
    fetch: createLimitedFetch(options.fetch, options.limits),
    interactions: {
      policy: promptPolicy(),
      url: (_ctx, { uid }) => `/oauth/interaction/${uid}`,
    },
    // No cookie authenticates at these endpoints, so requests from any origin are safe.
    clientBasedCORS: () => true,
    // Answered as JSON, so that no part of the request can become markup. See
    // `delegateAuthorizationErrors`.
    renderError(ctx, out) {
      ctx.body = out;
    },
  };
}

/** Applies the current rules to stored clients, which may be older than the rules. */
function restrictClients({ Client: { prototype } }: Provider): void {
  prototype.compareClientSecret = function (presented) {
    return matchesClientSecret(this.clientSecret, presented);
  };
  const { grantTypeAllowed, redirectUriAllowed } = prototype;
  prototype.redirectUriAllowed = function (redirectUri) {
    const url = URL.parse(redirectUri);
    return url !== null && isAllowedRedirect(url) && redirectUriAllowed.call(this, redirectUri);
  };
  prototype.grantTypeAllowed = function (type) {
    const isPublic = this.clientAuthMethod === "none";
    if (isPublic && confidentialGrantTypes.includes(type)) return false;
    return grantTypeAllowed.call(this, type);
  };
}

/**
 * Creates the authorization server: open dynamic registration with management (RFC 7591, 7592),
 * clients by metadata document, the grants client_credentials, authorization_code with PKCE (RFC
 * 7636), refresh_token with rotation and jwt-bearer (RFC 7523), opaque access tokens, ID tokens,
 * revocation (RFC 7009), resources (RFC 8707), issuer identification (RFC 9207) and both metadata
 * documents.
 *
 * The server trusts the forwarded headers of a request for its own address and the caller's
 * address, so the HTTP layer that mounts it must overwrite them. The pages at
 * /oauth/interaction/:uid handle a person's part of a request (`createInteractions`).
 *
 * All state is in the store, so an instance with other keys can replace this one at any time.
 */
export function createAuthorizationServer(options: AuthorizationServerOptions): Provider {
  const { records, now, onError } = options;
  const context = { records, now, audit: createAuditor(options) };
  const adapter = createStoreAdapter({ ...options, ...context });
  const provider = new Provider(options.baseUrl, { ...configuration(options), adapter });
  provider.proxy = true;
  restrictClients(provider);
  endStaleSessions(provider, options);
  registerJwtBearerGrant(provider, { ...options, ...context });
  extendStoredGrant(provider);
  prefixRefreshTokens(provider);
  delegateAuthorizationErrors(provider);
  correctResponses(provider, onError);
  restrictErrorRedirects(provider);
  auditRejectedTokenRequests(provider, { ...context, limits: options.limits, onError });
  addIdentitiesToRegistration(provider, { ...options, ...context });
  commitIssuancesOnResponse(provider, context);
  return provider;
}
