import { isAudienceAllowed } from "../access/audience.ts";
import { type Authenticate, type Caller, callerKey } from "../access/caller.ts";
import type { Scope } from "../access/scopes.ts";
import { Problem } from "../lib/problem.ts";
import { partyAt } from "../limits/address-key.ts";
import type { LimitState, Limits } from "../limits/limits.ts";
import { type ClaimService, claimLinks } from "../principals/agents/claims.ts";
import { bearerChallenge, type Credential, readCredential } from "./credential.ts";
import { countPublicRequest, requireWithinLimits } from "./rate-limits.ts";
import type { RequestContext } from "./request-context.ts";

/** Dependencies of authorization. */
interface AuthorizationOptions {
  readonly authenticate: Authenticate;
  /** Public origin without a trailing slash. */
  readonly baseUrl: string;
  /** Scopes of unclaimed agents. Challenges (`WWW-Authenticate`) list them (RFC 6750 section 3). */
  readonly anonymousScopes: readonly Scope[];
  readonly claims: Pick<ClaimService, "claimantsNote">;
  /**
   * `calls` counts the calls of a caller; `calls-unclaimed`, those of an unclaimed agent; `visits`,
   * requests without a valid credential.
   */
  readonly limits: Limits;
}

/** One of the two protected resources: "" is the base URL, "/mcp" the MCP endpoint. */
export type ResourcePath = "" | "/mcp";

/** The same message for every invalid credential, so that guesses reveal nothing. */
const INVALID_CREDENTIAL = "The credential is unknown, expired or revoked.";

/** Advice for a caller without a valid credential. */
const nextWithoutCredential = ({ anonymousScopes, baseUrl }: AuthorizationOptions): string =>
  anonymousScopes.length > 0
    ? `Get a token at ${baseUrl}/oauth/token with your client_id and client_secret; a claim ends earlier tokens. Without a client, register first at ${baseUrl}/oauth/register.`
    : `Agents need a person on this instance: see ${baseUrl}/auth.md.`;

/** Advice for a caller whose token has another audience. */
const nextForAudience = ({ kind, resource }: Caller, { baseUrl }: AuthorizationOptions): string =>
  kind === "agent"
    ? `Get a token at ${baseUrl}/oauth/token without the parameter resource: it is valid here and at ${resource}.`
    : `Send the person to ${baseUrl}/oauth/authorize again, without the parameter resource: the token is then valid here and at ${resource}.`;

/**
 * Whether a caller lacks scopes that it can get only through a claim. An unclaimed agent cannot
 * request these itself, so a challenge would not help it.
 */
function isClaimNeeded(
  { kind, accountId, scopes }: Caller,
  needed: readonly Scope[],
  anonymousScopes: readonly Scope[],
): boolean {
  const isUnclaimed = kind === "agent" && accountId === undefined;
  return isUnclaimed && needed.some((name) => !scopes.has(name) && !anonymousScopes.includes(name));
}

/** Advice for a caller whose credential lacks scopes. */
function nextForScopes(
  caller: Caller,
  missing: readonly Scope[],
  { anonymousScopes, claims, baseUrl }: AuthorizationOptions,
): string {
  const { kind, id, accountId } = caller;
  const scope = missing.join(" ");
  if (kind === "service")
    return `Use an API key that has it: a person can create one at ${baseUrl}/account.`;
  if (kind === "user") {
    return `Send the person to ${baseUrl}/oauth/authorize again with ${scope} in the parameter scope.`;
  }
  const getToken = `get a token at ${baseUrl}/oauth/token that has ${scope}`;
  if (accountId !== undefined) {
    return `If the token asked for less than the agent may have, ${getToken}. Otherwise the person who claimed the agent did not allow it: they can end the claim at ${baseUrl}/account and claim it again.`;
  }
  if (!isClaimNeeded(caller, missing, anonymousScopes)) {
    return `If the token asked for less than was registered, ${getToken}. Otherwise register for it at ${baseUrl}/oauth/register.`;
  }
  const { page, start_url } = claimLinks(baseUrl, id);
  return `A person must claim this agent first: let them enter its claim code at ${page}. The registration gave the code, POST ${start_url} gives a new one. ${claims.claimantsNote} Then ${getToken}.`;
}

/** URL of the protected resource metadata (RFC 9728). */
const metadataUrlOf = ({ baseUrl }: AuthorizationOptions, path: ResourcePath): string =>
  `${baseUrl}/.well-known/oauth-protected-resource${path}`;

/**
 * Authorizes requests to one of the two protected resources (RFC 6750, RFC 9728). It is the only
 * place where bearer tokens and API keys are accepted or rejected.
 */
export class ProtectedResource {
  readonly #options: AuthorizationOptions;
  readonly #resource: string;
  readonly #metadataUrl: string;

  constructor(options: AuthorizationOptions, path: ResourcePath) {
    this.#options = options;
    this.#resource = `${options.baseUrl}${path}`;
    this.#metadataUrl = metadataUrlOf(options, path);
  }

  /**
   * Authenticates a request, counts it as a call, and checks its scopes.
   *
   * @param scopes Scopes, all of which are required; empty if they depend on the body, see
   * `requireScopes`.
   * @throws {Problem} `unauthenticated`, `rate_limited`, `insufficient_scope`, or `invalid_request`
   * for more than one credential.
   */
  async authorize(context: RequestContext, scopes: readonly Scope[] = []): Promise<Caller> {
    const { authenticate, limits } = this.#options;
    const { res } = context;
    const credential = this.#credentialOf(context);
    if (credential instanceof Problem) {
      // A request without a usable credential counts as anonymous.
      await countPublicRequest(limits, context);
      throw credential;
    }
    const caller = await authenticate(credential.text);
    if (!isValidCredential(caller, credential)) {
      await countPublicRequest(limits, context);
      throw this.#unauthenticated(INVALID_CREDENTIAL, { error: "invalid_token" });
    }
    context.caller = caller;
    context.isStillValid = async () => isUnchanged(caller, await authenticate(credential.text));
    requireWithinLimits(res, [await countCall(limits, caller, context.ip)]);
    if (!isAudienceAllowed(caller.resource, this.#resource)) {
      throw this.#unauthenticated(`The token was issued for ${caller.resource}.`, {
        error: "invalid_token",
        next: nextForAudience(caller, this.#options),
      });
    }
    this.requireScopes(caller, scopes);
    return caller;
  }

  /** Whether a caller lacks scopes that it can get only through a claim. */
  isClaimNeeded(caller: Caller, needed: readonly Scope[]): boolean {
    return isClaimNeeded(caller, needed, this.#options.anonymousScopes);
  }

  /**
   * Checks the scopes of a caller.
   *
   * @throws {Problem} `insufficient_scope` with a challenge that lists every required scope.
   */
  requireScopes(caller: Caller, needed: readonly Scope[]): void {
    const missing = needed.filter((scope) => !caller.scopes.has(scope));
    if (missing.length === 0) return;
    const detail = `This operation needs the scope ${missing.join(" ")}.`;
    throw new Problem("insufficient_scope", {
      detail,
      next: nextForScopes(caller, missing, this.#options),
      headers: {
        "WWW-Authenticate": bearerChallenge({
          error: "insufficient_scope",
          error_description: detail,
          scope: needed.join(" "),
          resource_metadata: this.#metadataUrl,
        }),
      },
    });
  }

  /**
   * Authenticates again, because the credential may have been revoked while the body was received.
   *
   * @throws {Problem} `unauthenticated`
   */
  async requireStillValid(context: RequestContext): Promise<void> {
    if (!(await context.isStillValid())) {
      throw this.#unauthenticated(INVALID_CREDENTIAL, { error: "invalid_token" });
    }
  }

  /**
   * Counts every call in a batch except the first, which `authorize` has already counted.
   *
   * @throws {Problem} `rate_limited`
   */
  async countAdditionalCalls(
    { res, ip }: RequestContext,
    caller: Caller,
    calls: number,
  ): Promise<void> {
    if (calls === 0) return;
    const counted = await Promise.all(
      Array.from({ length: calls }, () => countCall(this.#options.limits, caller, ip)),
    );
    for (const name of ["RateLimit", "RateLimit-Policy"]) res.removeHeader(name);
    requireWithinLimits(res, counted.slice(-1));
  }

  /** The credential of a request; a problem if the request has no usable credential. */
  #credentialOf({ req }: RequestContext): Credential | Problem {
    try {
      return readCredential(req, {
        unauthenticated: (detail) => this.#unauthenticated(detail),
        multiple: multipleCredentials,
      });
    } catch (error) {
      if (error instanceof Problem) return error;
      throw error;
    }
  }

  /**
   * Creates the problem for a missing or invalid credential. Its challenge has no error code if no
   * credential was sent (RFC 6750 section 3).
   */
  #unauthenticated(
    detail: string,
    { error, next }: { readonly error?: "invalid_token"; readonly next?: string } = {},
  ): Problem {
    const scope = this.#options.anonymousScopes.join(" ");
    return new Problem("unauthenticated", {
      detail,
      next: next ?? nextWithoutCredential(this.#options),
      headers: {
        "WWW-Authenticate": bearerChallenge({
          ...(error && { error, error_description: detail }),
          ...(scope !== "" && { scope }),
          resource_metadata: this.#metadataUrl,
        }),
      },
    });
  }
}

const multipleCredentials = (detail: string) =>
  new Problem("invalid_request", { detail, next: "Send one credential." });

/** Whether a credential is valid and was sent in a header that allows its kind. */
const isValidCredential = (caller: Caller | undefined, { scheme }: Credential): caller is Caller =>
  caller !== undefined && (scheme === "bearer" || caller.kind === "service");

/** Whether a credential still identifies the same caller, with all of its earlier scopes. */
function isUnchanged({ kind, id, accountId, scopes }: Caller, now: Caller | undefined): boolean {
  const isSame = now?.kind === kind && now.id === id && now.accountId === accountId;
  return isSame && [...scopes].every((scope) => now.scopes.has(scope));
}

/** Counts a call. Agents that nobody has claimed have a class of their own. */
function countCall(limits: Limits, caller: Caller, ip: string | undefined): Promise<LimitState> {
  const isUnclaimed = caller.kind === "agent" && caller.accountId === undefined;
  return limits.admit(isUnclaimed ? "calls-unclaimed" : "calls", partyAt(ip, callerKey(caller)));
}
