import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  type CustomFetch,
  calculatePKCECodeChallenge,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
} from "openid-client";
import { EmailAddress } from "../../mail/email-address.ts";
import { isLoopbackHost } from "../../outbound/loopback.ts";

/** An external OpenID provider that people can sign in with. */
export interface UpstreamProviderSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** Timeout of a request to the provider, in seconds. */
const TIMEOUT_SECONDS = 5;

/** Requested scopes: the identity, and the email address if the provider knows it. */
const SCOPE = "openid email";

/** Maximum age of the sign-in at the provider (`max_age`), in seconds. */
const MAX_AGE_SECONDS = 300;

/**
 * Options of `createUpstreamClient`, with which this service acts as a client of an OpenID
 * provider.
 */
interface UpstreamClientOptions extends UpstreamProviderSettings {
  /** The callback URL, as registered at the provider. */
  readonly redirectUri: string;
  /** Replaces the global `fetch`. */
  readonly fetch?: CustomFetch;
}

/** Values that bind a response to the browser that started the request. */
export interface SignInBinding {
  readonly state: string;
  readonly nonce: string;
  /** PKCE code verifier (RFC 7636 section 4.1). */
  readonly verifier: string;
}

/** A person as the provider identifies them. */
export interface UpstreamIdentity {
  readonly issuer: string;
  readonly subject: string;
  /** Normalized email address; `undefined` unless the provider has verified it. */
  readonly email: string | undefined;
  /** Display name of the account. */
  readonly label: string;
  /** When the person authenticated at the provider, in milliseconds since the epoch. */
  readonly signedInAt: number;
}

/** A client of the provider. Every method rethrows the errors of openid-client unchanged. */
interface UpstreamClient {
  /**
   * The URL that starts a sign-in. It asks the provider to authenticate the person again and to
   * return the time of that authentication (OpenID Connect Core 1.0 section 3.1.2.1).
   */
  authorizationUrl(checks: SignInBinding): Promise<URL>;
  /**
   * Exchanges the code of a callback for the person's identity. Some providers neither authenticate
   * the person again nor return `auth_time`: the person is then signed in, but the sign-in counts
   * as old.
   * @param callback Only the query is used.
   */
  identify(callback: URL, checks: SignInBinding): Promise<UpstreamIdentity>;
}

/**
 * Creates the client. The provider's metadata is fetched at first use, and again after a failure.
 */
export function createUpstreamClient(options: UpstreamClientOptions): UpstreamClient {
  const { redirectUri } = options;
  let known: Promise<Configuration> | undefined;
  const provider = (): Promise<Configuration> => {
    known ??= discoverProvider(options).catch((error: unknown) => {
      known = undefined;
      throw error;
    });
    return known;
  };
  return {
    async authorizationUrl({ state, nonce, verifier }) {
      const code_challenge = await calculatePKCECodeChallenge(verifier);
      return buildAuthorizationUrl(await provider(), {
        redirect_uri: redirectUri,
        scope: SCOPE,
        state,
        nonce,
        code_challenge,
        code_challenge_method: "S256",
        prompt: "login",
        max_age: String(MAX_AGE_SECONDS),
      });
    },
    async identify(callback, { state, nonce, verifier }) {
      const configuration = await provider();
      // The library sends this URL to the provider as the redirect URI, so it must not come from
      // the request.
      const answer = new URL(redirectUri);
      answer.search = callback.search;
      const tokens = await authorizationCodeGrant(configuration, answer, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
      });
      const claims: Claims = tokens.claims() ?? { sub: "" };
      const { userinfo_endpoint, issuer } = configuration.serverMetadata();
      const signedIn = { issuer, signedInAt: (claims.auth_time ?? 0) * 1000 };
      if (claims.email !== undefined || userinfo_endpoint === undefined) {
        return { ...signedIn, ...identityFromClaims(claims) };
      }
      const userInfo = await fetchUserInfo(configuration, tokens.access_token, claims.sub);
      return { ...signedIn, ...identityFromClaims(userInfo) };
    },
  };
}

function discoverProvider(options: UpstreamClientOptions): Promise<Configuration> {
  const { issuer, clientId, clientSecret, fetch } = options;
  const server = new URL(issuer);
  const isLocal = server.protocol === "http:" && isLoopbackHost(server.hostname);
  return discovery(server, clientId, undefined, clientAuthentication(clientSecret), {
    timeout: TIMEOUT_SECONDS,
    execute: [enableNonRepudiationChecks, ...(isLocal ? [allowInsecureRequests] : [])],
    ...(fetch && { [customFetch]: fetch }),
  });
}

/**
 * The client authentication method: the Authorization header, which is the default (OpenID Connect
 * Discovery 1.0 section 3), unless the provider lists only other methods.
 */
function clientAuthentication(secret: string): ClientAuth {
  const [inHeader, inBody] = [ClientSecretBasic(secret), ClientSecretPost(secret)];
  return (server, ...rest) => {
    const { token_endpoint_auth_methods_supported: ways = ["client_secret_basic"] } = server;
    return (ways.includes("client_secret_basic") ? inHeader : inBody)(server, ...rest);
  };
}

interface Claims {
  readonly sub: string;
  readonly email?: unknown;
  readonly email_verified?: unknown;
  /** Time of authentication, in seconds since the epoch. */
  readonly auth_time?: number;
}

/**
 * The identity in an ID token. An email address counts only if the provider has verified it (OpenID
 * Connect Core 1.0 section 5.1).
 */
function identityFromClaims({ sub, email, email_verified }: Claims) {
  const { data } = EmailAddress.safeParse(email_verified === true ? email : undefined);
  return { subject: sub, email: data, label: data ?? sub };
}
