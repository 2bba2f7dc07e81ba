import { isScope, parseScopeNames, type Scope } from "../../src/access/scopes.ts";
import type { Credential, Victims } from "./matrix-credentials.ts";

/** The expected answer to an operation with a credential. */
export interface Answer {
  /** Allowed statuses. */
  readonly status: readonly number[];
  /** Expected WWW-Authenticate challenge; absent: none. */
  readonly challenge?: {
    readonly error: "invalid_token" | "insufficient_scope" | undefined;
    /** Scopes in the challenge. */
    readonly scope?: string;
    /** Path of the protected resource in the challenge. */
    readonly resource: "" | "/mcp";
  };
  /** Kind of the body; absent: not checked. */
  readonly body?: "problem" | "oauth" | "page" | "empty" | "claim";
  /** Beginning of the Location header. */
  readonly location?: string;
}

/** Returns the expected answer of an operation to a credential. */
export type Policy = (credential: Credential, victims: Victims) => Answer;

const anonymousScopes = "signals:read factor:read darkpool:read";

/** A public operation, which ignores credentials, even invalid ones. */
export const publicPolicy =
  (...status: readonly number[]): Policy =>
  () => ({ status });

/** The answer of a protected resource to an unauthenticated caller. */
function unauthenticated({ isPresented }: Credential, resource: "" | "/mcp"): Answer {
  const error = isPresented ? "invalid_token" : undefined;
  const challenge = { error, scope: anonymousScopes, resource } as const;
  return { status: [401], challenge, body: "problem" };
}

/** The answer to an admitted caller. */
const OK: Answer = { status: [200] };

/** The answer to a caller who does not own the addressed thing. */
export const NOT_OWNED: Answer = { status: [404], body: "problem" };

/** A scope, or several scopes in the order in which a challenge lists them. */
export type ScopeNames = Scope | "alerts:write signals:read";

/**
 * A protected resource: without `scope`, any valid credential is enough; otherwise, the credential
 * must have the required scopes.
 */
export const scopePolicy =
  (resource: "" | "/mcp", scope?: ScopeNames, answer = OK): Policy =>
  (credential) => {
    const { holder } = credential;
    if (holder === undefined || (resource === "" && holder.resource === "/mcp")) {
      return unauthenticated(credential, resource);
    }
    const needed = parseScopeNames(scope ?? "").filter(isScope);
    if (scope === undefined || needed.every((one) => holder.scopes.includes(one))) return answer;
    const challenge = { error: "insufficient_scope", scope, resource } as const;
    return { status: [403], challenge, body: "problem" };
  };

/**
 * A tool behind the MCP endpoint. If it requires a scope that only claimed agents can have, an
 * unclaimed agent still gets 200, with a tool result that asks for a claim.
 */
export const toolScopePolicy =
  (scope: ScopeNames): Policy =>
  (credential, victims) => {
    const answer = scopePolicy("/mcp", scope)(credential, victims);
    const { holder } = credential;
    const isUnclaimed = holder?.kind === "agent" && !holder.scopes.includes("alerts:write");
    const mustBeClaimed = isUnclaimed && scope.includes("alerts:write");
    return mustBeClaimed ? { status: [200], body: "claim" } : answer;
  };

/**
 * POST /oauth/revoke: possession of a token is enough, unless an Authorization header with a scheme
 * other than Bearer authenticates a client.
 */
export const revocationPolicy: Policy = ({ headers: { authorization = "Bearer x" } }) =>
  /^Bearer ./.test(authorization) ? { status: [200] } : { status: [400, 401], body: "oauth" };

/** A page that requires a signed-in person. */
export const pagePolicy: Policy = ({ browser }) =>
  browser === undefined
    ? { status: [303], location: "/sign-in?" }
    : { status: [200], body: "page" };

/** A page about something that belongs to another person. */
export const foreignPage: Policy = ({ browser }) =>
  browser === undefined
    ? { status: [303], location: "/sign-in?" }
    : { status: [404], body: "page" };

/**
 * The submission of a form that was not rendered for the sender's browser; always rejected (CSRF
 * protection).
 */
export const formPolicy: Policy = () => ({ status: [403], body: "page" });

/**
 * The client configuration endpoint (RFC 7592), which accepts only the client's own registration
 * access token.
 */
export const registrationToken: Policy = () => ({ status: [400, 401], body: "oauth" });

/** The UserInfo endpoint: no credential of the matrix has the scope that the endpoint requires. */
export const userInfo: Policy = () => ({ status: [401, 403], body: "oauth" });

/** An endpoint that requires client authentication, which no request of the matrix has. */
export const clientAuthentication: Policy = () => ({ status: [400, 401], body: "oauth" });

/**
 * The caller that the claim endpoints see. They also accept an agent's registration access token,
 * because an agent that was registered for a person has no other credential.
 */
function claimant(
  credential: Credential,
): { readonly kind: "agent" | "user" | "service"; readonly agentId?: string } | undefined {
  const { holder, registrationOf: agentId } = credential;
  if (agentId !== undefined) return { kind: "agent", agentId };
  return holder?.resource === "/mcp" ? undefined : holder;
}

/**
 * POST /oauth/claim with a wrong code: a person gets 400, and the agent itself gets 409, because no
 * person has confirmed the claim yet.
 */
export const claimPolicy: Policy = (credential, { agent }) => {
  const { kind, agentId } = claimant(credential) ?? {};
  if (kind === undefined) return notKnown(credential);
  if (kind === "user") return { status: [400], body: "oauth" };
  return agentId === agent.client_id ? { status: [409], body: "oauth" } : notEligible;
};

/** POST /oauth/claim/start: only the agent itself may call it. */
export const claimStart: Policy = (credential, { agent }) => {
  const { kind, agentId } = claimant(credential) ?? {};
  if (kind === undefined) return notKnown(credential);
  return agentId === agent.client_id ? { status: [200] } : notEligible;
};

/**
 * The answer to an identified caller whom a claim endpoint does not admit. 401 is also allowed,
 * because a registration access token that was tried at another client's record is revoked (RFC
 * 7592 section 3).
 */
const notEligible: Answer = { status: [401, 403], body: "oauth" };

/** The 401 of the claim endpoints. It lists no scope, because no scope would help. */
function notKnown({ isPresented }: Credential): Answer {
  const error = isPresented ? "invalid_token" : undefined;
  return { status: [401], challenge: { error, resource: "" }, body: "oauth" };
}
