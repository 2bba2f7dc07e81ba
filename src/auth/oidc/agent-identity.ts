import { errors } from "oidc-provider";
import { EmailAddress } from "../../mail/email-address.ts";
import { insert } from "../../store/port/operations.ts";
import type { Operation } from "../../store/port/records.ts";
import type { Accounts } from "../accounts/accounts.ts";
import type { Agent } from "../agents/agent.ts";
import { type AssertionErrorCode, assertionErrors } from "../assertions/assertion-claims.ts";
import { type Assertion, type AssertionVerifier, usedAssertions } from "../assertions/id-jag.ts";
import { ID_JAG } from "../assertions/oauth-urns.ts";
import { allowedResources } from "../audience.ts";
import type { Auditor } from "../auditor.ts";
import { allScopes } from "../scopes.ts";
import type { Metadata } from "./metadata-members.ts";

/** The identity that a registration requests, verified. */
export interface RequestedIdentity {
  readonly agent: Pick<Agent, "identityType" | "loginHint" | "owner">;
  /** The assertion that proves it. */
  readonly assertion?: Assertion;
  /** To be committed with the agent. @param clientId Id of the agent. */
  steps(clientId: string): readonly Operation[];
}

/** What identities are verified with. */
export interface IdentityOptions {
  readonly verifier: AssertionVerifier;
  readonly accounts: Accounts;
  readonly audit: Auditor;
  /** Public origin, without a trailing slash; the resource of the whole service. */
  readonly baseUrl: string;
  readonly now: () => Date;
}

/** Types that do not register here, and where they go instead. */
const elsewhere: Readonly<Record<string, string>> = {
  user: "a user signs in by the authorization code flow at /oauth/authorize",
  service: "a service uses an API key, which the operator issues or accepts an application for",
};

function refuse(error: string, description: string): never {
  throw new errors.CustomOIDCProviderError(error, description);
}

/** A registration without `type` is of an anonymous agent. */
function plain(identityType: "anonymous" | "agent"): RequestedIdentity {
  return { agent: { identityType }, steps: () => [] };
}

function serviceAuth({ login_hint }: Metadata): RequestedIdentity {
  const { data: loginHint } = EmailAddress.safeParse(login_hint);
  if (loginHint === undefined) {
    refuse("invalid_login_hint", "login_hint must be the email address of who may claim the agent");
  }
  return { agent: { identityType: "service_auth", loginHint }, steps: () => [] };
}

const statuses: Partial<Readonly<Record<AssertionErrorCode, number>>> = {
  login_required: 401,
  issuer_unreachable: 503,
};

/** Ends a registration whose assertion is refused. @throws With auth.md's names and statuses. */
export function refuseAssertion(reason: AssertionErrorCode): never {
  const name = reason === "issuer_unreachable" ? "temporarily_unavailable" : reason;
  const error = new errors.CustomOIDCProviderError(name, assertionErrors[reason]);
  const status = statuses[reason] ?? 400;
  throw Object.assign(error, { status, statusCode: status });
}

async function identityAssertion(
  { assertion_type, assertion }: Metadata,
  { verifier, accounts, audit, baseUrl, now }: IdentityOptions,
): Promise<RequestedIdentity> {
  if (assertion_type !== ID_JAG || typeof assertion !== "string") {
    refuse("invalid_request", `assertion_type must be ${ID_JAG}, and assertion a JWT`);
  }
  const verified = await verifier.forRegistration(assertion);
  if (typeof verified === "string") refuseAssertion(verified);

  const scopes = allScopes.filter((scope) => verified.scopes?.includes(scope) ?? true);
  if (scopes.length === 0) refuse("invalid_scope", "the assertion allows no scope of this server");
  const [resource] = allowedResources(verified.resources, baseUrl);
  if (resource === undefined) {
    refuse("invalid_target", "the assertion names no resource of this server");
  }
  const { id: accountId } = await accounts.findOrCreateBySubject(verified.subject);
  const reach = resource === baseUrl ? {} : { resource };
  const owner = { accountId, scopes, claimedAt: now().getTime(), ...reach };
  return {
    agent: { identityType: "identity_assertion", owner },
    assertion: verified,
    steps: (clientId) => [
      insert(usedAssertions, { ...verified.use, value: { clientId } }),
      ...audit({ action: "client.claimed", actor: accountId, target: clientId }),
    ],
  };
}

function registersItself({ grant_types }: Metadata): boolean {
  return Array.isArray(grant_types) && grant_types.includes("client_credentials");
}

/**
 * Verifies what the `type` of a registration claims.
 *
 * @throws `unsupported_identity_type`, `invalid_login_hint`, or why the assertion is refused.
 */
export async function requestedIdentity(
  body: Metadata,
  options: IdentityOptions,
): Promise<RequestedIdentity> {
  const { type = "anonymous" } = body;
  if (type === "anonymous") return plain(type);

  const isKnown = type === "agent" || type === "service_auth" || type === "identity_assertion";
  if (!isKnown) {
    // The metadata list these types, so the error is the endpoint, not the type.
    const advice = Object.hasOwn(elsewhere, String(type)) ? elsewhere[String(type)] : undefined;
    if (advice !== undefined) refuse("invalid_client_metadata", advice);
    const known = "type must be anonymous, identity_assertion, service_auth or agent";
    refuse("unsupported_identity_type", known);
  }
  if (!registersItself(body)) {
    refuse("invalid_client_metadata", `the type ${type} needs the grant type client_credentials`);
  }
  if (type === "agent") return plain(type);
  return type === "service_auth" ? serviceAuth(body) : identityAssertion(body, options);
}
