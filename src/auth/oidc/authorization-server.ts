import { type Configuration, type JWK, Provider } from "oidc-provider";
import { paths } from "../../../wellknown/paths.ts";
import type { Limits } from "../../limits/limits.ts";
import type { Records } from "../../store/port/records.ts";
import type { Accounts } from "../accounts/accounts.ts";
import type { Session } from "../accounts/browser-sessions.ts";
import type { Claims } from "../agents/claims.ts";
import type { UnclaimedCapacity } from "../agents/unclaimed-capacity.ts";
import type { AssertionVerifier } from "../assertions/id-jag.ts";
import { createAuditor } from "../auditor.ts";
import { type Scope, scopes } from "../scopes.ts";
import { matchesClientSecret } from "../secrets.ts";
import { checkAssertionEnd } from "./client-keys.ts";
import { clientMetadata, confidentialGrants, idTokenAlgorithms } from "./client-metadata.ts";
import { keepApprovals, refreshTokenPolicy } from "./consent.ts";
import {
  accountFinder,
  type EndUsers,
  extraTokenClaims,
  followSignIn,
  promptPolicy,
} from "./end-user.ts";
import { delegateRefusals, holdErrorRedirects } from "./error-redirects.ts";
import { commitIssuances } from "./issuance.ts";
import { registerJwtBearer } from "./jwt-bearer.ts";
import { documentClients, type Fetch, limitedFetch } from "./metadata-documents.ts";
import { isAllowedRedirect } from "./redirect-uris.ts";
import { keepRefreshTokenFamilies } from "./refresh-token-families.ts";
import { adaptRegistration, newClientId } from "./registration-endpoint.ts";
import { personalScopes, resourceIndicators } from "./resource-indicators.ts";
import { correctResponses } from "./response-corrections.ts";
import { allowOwnTokens } from "./revocation.ts";
import { createStoreAdapter } from "./store-adapter.ts";
import { lifetimes } from "./token-lifetimes.ts";
import { auditRefusals } from "./token-refusal-audit.ts";

/** What the authorization server is made from. */
export interface ProviderOptions {
  /** Public origin, without a trailing slash: the issuer. */
  readonly baseUrl: string;
  /** The scopes of agents without an owner. */
  readonly anonymousScopes: readonly Scope[];
  readonly claims: Claims;
  readonly verifier: AssertionVerifier;
  /** Hashes a network address, so that equal addresses can still be recognized. */
  readonly hashAddress: (address: string) => string;
  readonly now: () => Date;
  /** Finds who is signed in at a browser. @param cookie Its Cookie header. */
  readonly signedIn: (cookie: string | undefined) => Promise<Session | undefined>;
  readonly records: Records;
  readonly accounts: Accounts;
  /** Members to add to both metadata documents; they cannot replace what the server states. */
  readonly discovery: Readonly<Record<string, unknown>>;
  readonly keys: ProviderKeys;
  readonly limits: Limits;
  /** Bounds the clients that nobody owns. */
  readonly capacity: UnclaimedCapacity;
  /** Fetches addresses that strangers name, and none within the operator's network. */
  readonly fetch: Fetch;
  /** Told about every failure that is not the caller's, save that the store cannot answer. */
  readonly onError: (error: unknown) => void;
}

/** The keys of the authorization server. Of each kind the first is for what is new, the others
 *  for what was signed before they were replaced. */
interface ProviderKeys {
  /** Private keys of P-256 and RSA keys, each with its `kid`. */
  readonly signing: readonly JWK[];
  /** Secrets that sign cookies. */
  readonly cookies: readonly string[];
}

/** Signing algorithm of the ID tokens of a client that registered for none (OpenID Connect Dynamic
 *  Client Registration 1.0 section 2). */
const DEFAULT_SIGNING_ALGORITHM = "RS256";

/** Algorithms of client assertions (private_key_jwt). */
const clientSigningAlgorithms = ["ES256", "ES384", "EdDSA", "Ed25519", "PS256", "RS256"] as const;

/** How a client may authenticate; `none` is for public clients that use PKCE. */
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

function features(options: ProviderOptions): Configuration["features"] {
  return {
    clientCredentials: { enabled: true },
    clientIdMetadataDocument: documentClients,
    registration: { enabled: true, idFactory: newClientId },
    registrationManagement: { enabled: true, rotateRegistrationAccessToken: true },
    revocation: { enabled: true, allowedPolicy: allowOwnTokens },
    resourceIndicators: resourceIndicators(options),
    devInteractions: { enabled: false },
    dPoP: { enabled: false },
    pushedAuthorizationRequests: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    // oidc-provider's endpoint refuses tokens that name a resource; `userInfoOf` answers instead.
    userinfo: { enabled: false },
  };
}

/** Settings for every token. */
function tokens(people: EndUsers): Configuration {
  return {
    ttl: lifetimes,
    extraTokenClaims,
    findAccount: accountFinder(people),
    // A grant lasts until the person or the client ends it, not until a browser is closed.
    expiresWithSession: () => false,
    ...refreshTokenPolicy,
    pkce: { required: () => true },
  };
}

function configuration(options: ProviderOptions): Configuration {
  const { signing, cookies } = options.keys;
  return {
    ...tokens(options),
    routes,
    features: features(options),
    discovery: {
      revocation_endpoint_auth_methods_supported: clientAuthMethods,
      userinfo_endpoint: options.baseUrl + paths.userInfo,
      ...options.discovery,
    },
    jwks: { keys: [...signing] },
    cookies: { keys: [...cookies] },
    scopes: [...personalScopes, ...Object.keys(scopes)],
    responseTypes: ["code"],
    clientAuthMethods,
    assertJwtClientAuthClaimsAndHeader: checkAssertionEnd,
    clientDefaults: { id_token_signed_response_alg: DEFAULT_SIGNING_ALGORITHM },
    enabledJWA: {
      idTokenSigningAlgValues: idTokenAlgorithms,
      clientAuthSigningAlgValues: clientSigningAlgorithms,
    },
    extraClientMetadata: clientMetadata(options.anonymousScopes),
    fetch: limitedFetch(options.fetch, options.limits),
    interactions: {
      policy: promptPolicy(),
      url: (_ctx, { uid }) => `/oauth/interaction/${uid}`,
    },
    // No cookie or other ambient credential authenticates here, so any page may request a token.
    clientBasedCORS: () => true,
    // As JSON, never as a page, so nothing of the request can become markup. See
    // `delegateRefusals`.
    renderError(ctx, out) {
      ctx.body = out;
    },
  };
}

/** Applies the rules to stored clients too, which may be older than a rule. */
function holdClients({ Client: { prototype } }: Provider): void {
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
    if (isPublic && confidentialGrants.includes(type)) return false;
    return grantTypeAllowed.call(this, type);
  };
}

/**
 * The authorization server: open dynamic registration with management (RFC 7591, 7592), clients by
 * metadata document, the grants client_credentials, authorization_code with PKCE (RFC 7636),
 * refresh_token with rotation and jwt-bearer (RFC 7523), opaque access tokens, ID tokens, revocation
 * (RFC 7009), resources (RFC 8707), issuer identification (RFC 9207) and both metadata documents.
 *
 * It takes its own address and the caller's from the forwarded headers of the request, so whoever
 * mounts it must overwrite those. A person's part of a request is shown by pages elsewhere, at
 * /oauth/interaction/:uid (`createInteractions`).
 *
 * All state is in the store, so that another one, with other keys, can take its place at any time.
 */
export function createProvider(options: ProviderOptions): Provider {
  const { records, now, onError } = options;
  const context = { records, now, audit: createAuditor(options) };
  const adapter = createStoreAdapter({ ...options, ...context });
  const provider = new Provider(options.baseUrl, { ...configuration(options), adapter });
  provider.proxy = true;
  holdClients(provider);
  followSignIn(provider, options);
  registerJwtBearer(provider, { ...options, ...context });
  keepApprovals(provider);
  keepRefreshTokenFamilies(provider);
  delegateRefusals(provider);
  correctResponses(provider, onError);
  holdErrorRedirects(provider);
  auditRefusals(provider, { ...context, limits: options.limits, onError });
  adaptRegistration(provider, { ...options, ...context });
  commitIssuances(provider, context);
  return provider;
}
