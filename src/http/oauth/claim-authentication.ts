import type { Request } from "express";
import { isAudienceAllowed } from "../../access/audience.ts";
import type { Authenticate, Caller } from "../../access/caller.ts";
import type { Scope } from "../../access/scopes.ts";
import { partyAt } from "../../limits/address-key.ts";
import type { Limits } from "../../limits/limits.ts";
import { rateLimitProblem } from "../../limits/rate-limit-problem.ts";
import { isFreshSignIn } from "../../principals/accounts/browser-sessions.ts";
import type { ActingApplication } from "../../principals/agents/agent.ts";
import type { FindRegisteredClient } from "../../principals/agents/registration-access-token.ts";
import { bearerChallenge, type CreateCredentialError, readCredential } from "../credential.ts";
import { OAuthError } from "../errors.ts";

/**
 * The authenticated caller of a claim endpoint: the agent itself, or a person who acts through an
 * application.
 */
export type AgentClaimCaller =
  | { readonly kind: "agent"; readonly agentId: string }
  | {
      readonly kind: "person";
      readonly accountId: string;
      /** Scopes of the token. */
      readonly scopes: readonly Scope[];
      /** The application that holds the token. */
      readonly through: ActingApplication;
    };

/** Dependencies of `createClaimAuthenticator`. */
export interface ClaimAuthenticationOptions {
  readonly authenticate: Authenticate;
  /**
   * Finds an agent by its registration access token. Some agents get no access token before they
   * are claimed; they authenticate with the registration access token instead.
   */
  readonly findRegisteredClient: FindRegisteredClient;
  readonly limits: Limits;
  /** Public origin without a trailing slash. */
  readonly baseUrl: string;
  readonly now: () => Date;
}

/**
 * Creates the function that authenticates requests to the claim endpoints.
 *
 * @throws {OAuthError} 400 `invalid_request` for two credentials; 401 `invalid_token` for a missing
 * or invalid credential; 403 `access_denied` for a credential that cannot be used to claim.
 * @throws {Problem} `rate_limited` after too many invalid credentials.
 */
export function createClaimAuthenticator(
  options: ClaimAuthenticationOptions,
): (req: Request) => Promise<AgentClaimCaller> {
  const { authenticate, findRegisteredClient, limits, baseUrl, now } = options;
  const unauthenticated = unauthenticatedAt(baseUrl);

  const principalOf = (caller: Caller): AgentClaimCaller => {
    if (caller.kind === "service") throw notEligibleError("An API key cannot claim an agent.");
    if (!isAudienceAllowed(caller.resource, baseUrl)) {
      throw unauthenticated(
        `The token was issued for ${caller.resource}: request one without resource.`,
        "invalid_token",
      );
    }
    return caller.kind === "agent"
      ? { kind: "agent", agentId: caller.id }
      : personPrincipal(caller, now().getTime());
  };

  return async (req) => {
    const { scheme, text } = readCredential(req, { unauthenticated, multiple });
    const caller = await authenticate(text);
    if (caller !== undefined && (scheme === "bearer" || caller.kind === "service")) {
      return principalOf(caller);
    }
    const agentId = scheme === "bearer" ? await findRegisteredClient(text) : undefined;
    if (agentId !== undefined) return { kind: "agent", agentId };
    const tooMany = rateLimitProblem([await limits.admit("visits", partyAt(req.ip))]);
    throw (
      tooMany ?? unauthenticated("The credential is unknown, expired or revoked.", "invalid_token")
    );
  };
}

/** The error for a valid credential that cannot be used for a claim. */
export function notEligibleError(description: string): OAuthError {
  return new OAuthError("access_denied", { status: 403, description });
}

/**
 * The person who authorized a token. An application can claim an agent with the token only within
 * minutes of the person's sign-in, and can give the agent only scopes of the token.
 */
function personPrincipal(caller: Caller, now: number): AgentClaimCaller {
  const { accountId, signedInAt, clientId, grantId } = caller;
  if (clientId === undefined || grantId === undefined) {
    throw notEligibleError("No person authorized the token.");
  }
  if (accountId === undefined || signedInAt === undefined || !isFreshSignIn(signedInAt, now)) {
    throw notEligibleError("The person signed in more than 5 minutes ago and must sign in again.");
  }
  if (caller.scopes.size === 0)
    throw notEligibleError("The token has no scope that an agent can get.");
  const through = { clientId, grantId };
  return { kind: "person", accountId, scopes: [...caller.scopes], through };
}

const multiple = (description: string) =>
  new OAuthError("invalid_request", { status: 400, description });

/**
 * Creates the 401 errors of the claim endpoints. The challenge contains the URL of the metadata
 * (RFC 9728 section 5.1) and, if a credential was sent, an error code (RFC 6750 section 3).
 */
function unauthenticatedAt(baseUrl: string): CreateCredentialError {
  const resource_metadata = `${baseUrl}/.well-known/oauth-protected-resource`;
  return (description, error) => {
    const reason = error && { error, error_description: description };
    const headers = { "WWW-Authenticate": bearerChallenge({ ...reason, resource_metadata }) };
    return new OAuthError("invalid_token", { status: 401, description, headers });
  };
}
