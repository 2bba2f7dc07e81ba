import { errors } from "oidc-provider";
import { allowedResources } from "../../access/audience.ts";
import type { Auditor } from "../../access/auditor.ts";
import { allScopes } from "../../access/scopes.ts";
import { EmailAddress } from "../../mail/email-address.ts";
import type { AccountService } from "../../principals/accounts/accounts.ts";
import type { Agent } from "../../principals/agents/agent.ts";
import type { Transaction } from "../../store/transact.ts";
import { type AssertionErrorCode, assertionErrors } from "../assertions/assertion-claims.ts";
import {
  type AssertionVerifier,
  usedAssertions,
  type VerifiedAssertion,
} from "../assertions/id-jag.ts";
import { ID_JAG_TOKEN_TYPE } from "../assertions/oauth-urns.ts";
import type { UnvalidatedClientMetadata } from "./metadata-members.ts";

/** The verified identity that a registration requests. */
export interface RequestedIdentity {
  readonly agent: Pick<Agent, "identityType" | "loginHint" | "owner">;
  /** The assertion that proves the identity; absent for identity types without an assertion. */
  readonly assertion?: VerifiedAssertion;
  /**
   * Records what proves the identity, in the transaction that stores the agent.
   * @param clientId Id of the agent.
   * @returns `false` if the assertion was used meanwhile.
   */
  record(tx: Transaction, clientId: string): Promise<boolean>;
}

/** Dependencies of `verifyRequestedIdentity`. */
export interface IdentityVerificationOptions {
  readonly verifier: AssertionVerifier;
  readonly accounts: AccountService;
  readonly audit: Auditor;
  /** Public origin, without a trailing slash; the resource of the whole service. */
  readonly baseUrl: string;
  readonly now: () => Date;
}

/** Identity types that cannot register, with the alternative for each. */
const alternatives: Readonly<Record<string, string>> = {
  user: "a user signs in by the authorization code flow at /oauth/authorize",
  service: "a service uses an API key, which the operator issues or accepts an application for",
};

function reject(error: string, description: string): never {
  throw new errors.CustomOIDCProviderError(error, description);
}

/** The identity of an agent that presents no proof. */
function unprovenIdentity(identityType: "anonymous" | "agent"): RequestedIdentity {
  return { agent: { identityType }, record: async () => true };
}

function serviceAuth({ login_hint }: UnvalidatedClientMetadata): RequestedIdentity {
  const { data: loginHint } = EmailAddress.safeParse(login_hint);
  if (loginHint === undefined) {
    reject(
      "invalid_login_hint",
      "login_hint must be the email address of the person who may claim the agent",
    );
  }
  return { agent: { identityType: "service_auth", loginHint }, record: async () => true };
}

const statuses: Partial<Readonly<Record<AssertionErrorCode, number>>> = {
  login_required: 401,
  issuer_unreachable: 503,
};

/**
 * Rejects a registration because of its assertion.
 * @throws `OIDCProviderError` with the error code and status that auth.md defines.
 */
export function rejectAssertion(reason: AssertionErrorCode): never {
  const name = reason === "issuer_unreachable" ? "temporarily_unavailable" : reason;
  const error = new errors.CustomOIDCProviderError(name, assertionErrors[reason]);
  const status = statuses[reason] ?? 400;
  throw Object.assign(error, { status, statusCode: status });
}

async function identityAssertion(
  { assertion_type, assertion }: UnvalidatedClientMetadata,
  { verifier, accounts, audit, baseUrl, now }: IdentityVerificationOptions,
): Promise<RequestedIdentity> {
  if (assertion_type !== ID_JAG_TOKEN_TYPE || typeof assertion !== "string") {
    reject("invalid_request", `assertion_type must be ${ID_JAG_TOKEN_TYPE}, and assertion a JWT`);
  }
  const verified = await verifier.forRegistration(assertion);
  if (typeof verified === "string") rejectAssertion(verified);

  const scopes = allScopes.filter((scope) => verified.scopes?.includes(scope) ?? true);
  if (scopes.length === 0) reject("invalid_scope", "the assertion allows no scope of this server");
  const [resource] = allowedResources(verified.resources, baseUrl);
  if (resource === undefined) {
    reject("invalid_target", "the assertion names no resource of this server");
  }
  const { id: accountId } = await accounts.findOrCreateBySubject(verified.subject);
  const reach = resource === baseUrl ? {} : { resource };
  const owner = { accountId, scopes, claimedAt: now().getTime(), ...reach };
  return {
    agent: { identityType: "identity_assertion", owner },
    assertion: verified,
    async record(tx, clientId) {
      const { key } = verified.use;
      if ((await tx.get(usedAssertions, key)) !== undefined) return false;
      tx.insert(usedAssertions, { ...verified.use, value: { clientId } });
      audit(tx, { action: "client.claimed", actor: accountId, target: clientId });
      return true;
    },
  };
}

function hasOwnTokens({ grant_types }: UnvalidatedClientMetadata): boolean {
  return Array.isArray(grant_types) && grant_types.includes("client_credentials");
}

/**
 * Verifies the identity type that a registration requests in `type`; without `type`, the agent is
 * anonymous.
 *
 * @throws `unsupported_identity_type`, `invalid_login_hint`, `invalid_client_metadata`, or the
 * error of the assertion.
 */
export async function verifyRequestedIdentity(
  body: UnvalidatedClientMetadata,
  options: IdentityVerificationOptions,
): Promise<RequestedIdentity> {
  const { type = "anonymous" } = body;
  if (type === "anonymous") return unprovenIdentity(type);

  const isKnown = type === "agent" || type === "service_auth" || type === "identity_assertion";
  if (!isKnown) {
    // The server metadata lists the types in `alternatives`, so they are valid, but they cannot be
    // requested at this endpoint.
    const advice = Object.hasOwn(alternatives, String(type))
      ? alternatives[String(type)]
      : undefined;
    if (advice !== undefined) reject("invalid_client_metadata", advice);
    const description = "type must be anonymous, identity_assertion, service_auth or agent";
    reject("unsupported_identity_type", description);
  }
  if (!hasOwnTokens(body)) {
    reject(
      "invalid_client_metadata",
      `the type ${type} requires the grant type client_credentials`,
    );
  }
  if (type === "agent") return unprovenIdentity(type);
  return type === "service_auth" ? serviceAuth(body) : identityAssertion(body, options);
}
