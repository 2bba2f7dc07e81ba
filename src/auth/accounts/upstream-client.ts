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
import type { UpstreamChoice } from "../../config/config.ts";
import { isLoopbackHost } from "../../lib/loopback.ts";
import { EmailAddress } from "../../mail/email-address.ts";

/** An answer of the provider has to be there within this many seconds. */
const TIMEOUT_SECONDS = 5;

/** Requested scopes: identity, and the address if the provider has one. */
const SCOPE = "openid email";

/** `max_age`: how long ago the sign-in at the provider may be, in seconds. */
const MAX_AGE_SECONDS = 300;

/** This service as a client of an OpenID provider. */
export interface UpstreamClientOptions extends UpstreamChoice {
  /** Where the provider sends browsers back to, as it is registered there. */
  readonly redirectUri: string;
  /** Instead of the one of the process. */
  readonly fetch?: CustomFetch;
}

/** Binds a response to the browser that began the request. */
export interface Checks {
  readonly state: string;
  readonly nonce: string;
  /** PKCE code verifier (RFC 7636 section 4.1). */
  readonly verifier: string;
}

/** A person as the provider names them. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
  /** Normalized, and the provider says that it is theirs. */
  readonly email: string | undefined;
  /** For people to recognize the account. */
  readonly label: string;
  /** When the person proved to the provider who they are, in milliseconds since the epoch. */
  readonly signedInAt: number;
}

/** Talks to the provider. Every method throws what openid-client throws. */
export interface UpstreamClient {
  /** Asks the provider to let the person sign in anew, as a code by email does, and to say when they
   *  did (OpenID Connect Core 1.0 section 3.1.2.1). */
  authorizationUrl(checks: Checks): Promise<URL>;
  /** Some providers neither ask again nor say when a person signed in: the person is then let in, and
   *  the sign-in counts as one of long ago. @param callback Only its query counts. */
  identify(callback: URL, checks: Checks): Promise<Identity>;
}

/** Creates the client. The provider's metadata are fetched when first needed, and again after a
 *  failure. */
export function createUpstreamClient(options: UpstreamClientOptions): UpstreamClient {
  const { redirectUri } = options;
  let known: Promise<Configuration> | undefined;
  const provider = (): Promise<Configuration> => {
    known ??= discovered(options).catch((error: unknown) => {
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
      // The library tells the provider this address as the redirect URI: never that of the request.
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
        return { ...signedIn, ...person(claims) };
      }
      const told = await fetchUserInfo(configuration, tokens.access_token, claims.sub);
      return { ...signedIn, ...person(told) };
    },
  };
}

function discovered(options: UpstreamClientOptions): Promise<Configuration> {
  const { issuer, clientId, clientSecret, fetch } = options;
  const server = new URL(issuer);
  const isLocal = server.protocol === "http:" && isLoopbackHost(server.hostname);
  return discovery(server, clientId, undefined, authentication(clientSecret), {
    timeout: TIMEOUT_SECONDS,
    execute: [enableNonRepudiationChecks, ...(isLocal ? [allowInsecureRequests] : [])],
    ...(fetch && { [customFetch]: fetch }),
  });
}

/** In the Authorization header, which is the default (OpenID Connect Discovery 1.0 section 3), unless
 *  the provider lists other ways only. */
function authentication(secret: string): ClientAuth {
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
  /** Seconds since the epoch. */
  readonly auth_time?: number;
}

/** Only an address that the provider vouches for is one (OpenID Connect Core 1.0 section 5.1). */
function person({ sub, email, email_verified }: Claims) {
  const { data } = EmailAddress.safeParse(email_verified === true ? email : undefined);
  return { subject: sub, email: data, label: data ?? sub };
}
