import { isScope, parseScopeNames, type Scope } from "../../src/auth/scopes.ts";
import type { Credential, Victims } from "./matrix-credentials.ts";

/** The answer that a cell of the matrix must get. */
export interface Answer {
  /** Any of these. */
  readonly status: readonly number[];
  /** What the WWW-Authenticate header says; absent: there is none. */
  readonly challenge?: {
    readonly error: "invalid_token" | "insufficient_scope" | undefined;
    /** Scopes that it names. */
    readonly scope?: string;
    /** Which of the two resources it points at. */
    readonly resource: "" | "/mcp";
  };
  /** Absent: whatever the operation answers. */
  readonly body?: "problem" | "oauth" | "page" | "empty" | "claim";
  /** Where a redirect leads, as the start of a path. */
  readonly location?: string;
}

/** The expected answer of an operation to a caller. */
export type Policy = (credential: Credential, victims: Victims) => Answer;

const anonymousScopes = "signals:read factor:read darkpool:read";

/** Open to everyone: a credential changes nothing, not even a bad one. */
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

/** The answer to a caller who does not own the resource. */
export const NOT_OWNED: Answer = { status: [404], body: "problem" };

/** Scopes as a challenge names them. */
export type ScopeNames = Scope | "alerts:write signals:read";

/** Behind the gate of a resource: any good credential, or one with the scopes that a challenge names. */
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

/** Behind the gate of the MCP endpoint, a tool: an agent that a person must claim for it first is let
 *  in, and told so. */
export const toolScopePolicy =
  (scope: ScopeNames): Policy =>
  (credential, victims) => {
    const answer = scopePolicy("/mcp", scope)(credential, victims);
    const { holder } = credential;
    const isUnclaimed = holder?.kind === "agent" && !holder.scopes.includes("alerts:write");
    const mustBeClaimed = isUnclaimed && scope.includes("alerts:write");
    return mustBeClaimed ? { status: [200], body: "claim" } : answer;
  };

/** POST /oauth/revoke by possession, unless a header says that a client authenticates. */
export const revocation: Policy = ({ headers: { authorization = "Bearer x" } }) =>
  /^Bearer ./.test(authorization) ? { status: [200] } : { status: [400, 401], body: "oauth" };

/** A page of a signed-in person. */
export const page: Policy = ({ browser }) =>
  browser === undefined
    ? { status: [303], location: "/sign-in?" }
    : { status: [200], body: "page" };

/** A page about something of another person. */
export const foreignPage: Policy = ({ browser }) =>
  browser === undefined
    ? { status: [303], location: "/sign-in?" }
    : { status: [404], body: "page" };

/** A form that did not come from a page of the browser. */
export const form: Policy = () => ({ status: [403], body: "page" });

/** The client's record (RFC 7592), for which only its own registration token is good. */
export const registrationToken: Policy = () => ({ status: [400, 401], body: "oauth" });

/** Who the person of a token is, which no credential of the matrix was allowed to know. */
export const userInfo: Policy = () => ({ status: [401, 403], body: "oauth" });

/** An endpoint where the client authenticates, and no request of the matrix does. */
export const clientAuthentication: Policy = () => ({ status: [400, 401], body: "oauth" });

/** Whom the claim endpoints see: an agent also by its registration token, since one that was
 *  registered for a person has no other. */
function claimant(
  credential: Credential,
): { readonly kind: "agent" | "user" | "service"; readonly agentId?: string } | undefined {
  const { holder, registrationOf: agentId } = credential;
  if (agentId !== undefined) return { kind: "agent", agentId };
  return holder?.resource === "/mcp" ? undefined : holder;
}

/** POST /oauth/claim with a wrong code: people may try, the agent itself is not confirmed. */
export const claim: Policy = (credential, { agent }) => {
  const { kind, agentId } = claimant(credential) ?? {};
  if (kind === undefined) return notKnown(credential);
  if (kind === "user") return { status: [400], body: "oauth" };
  return agentId === agent.client_id ? { status: [409], body: "oauth" } : notEligible;
};

/** POST /oauth/claim/start: only the agent itself. */
export const claimStart: Policy = (credential, { agent }) => {
  const { kind, agentId } = claimant(credential) ?? {};
  if (kind === undefined) return notKnown(credential);
  return agentId === agent.client_id ? { status: [200] } : notEligible;
};

/** A registration token that was tried at another record is dead (RFC 7592 section 3), so that it may
 *  not be known any more. */
const notEligible: Answer = { status: [401, 403], body: "oauth" };

/** The challenge of the claim endpoints; no scope would help. */
function notKnown({ isPresented }: Credential): Answer {
  const error = isPresented ? "invalid_token" : undefined;
  return { status: [401], challenge: { error, resource: "" }, body: "oauth" };
}
