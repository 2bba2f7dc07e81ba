import { ID_JAG_PROFILE, ID_JAG_TOKEN_TYPE } from "../src/auth/assertions/oauth-urns.ts";
import { paths } from "../src/lib/paths.ts";

/** Identity types of agents and callers. */
const identityTypes = [
  "anonymous",
  "identity_assertion",
  "service_auth",
  "agent",
  "user",
  "service",
];

/** Flows through which a caller gets access. */
const flows = ["agent_verified", "user_claimed", "client_credentials"];

/** Credentials that requests may carry. */
const credentials = ["api_key", "bearer_token", "oauth2_client_credentials"];

/**
 * The credentials of a registered agent: a client secret, and the access tokens that it gets for
 * the secret.
 */
const agentCredentials = ["oauth2_client_credentials", "bearer_token"];

/**
 * The metadata member `agent_auth`: how agents register and are claimed, in the vocabulary of
 * auth.md. It has the member names of the first version of auth.md and of the later versions,
 * because there are clients for each version.
 */
function agentAuth(baseUrl: string) {
  const registration = baseUrl + paths.register;
  const claim = baseUrl + paths.claim;
  return {
    skill: baseUrl + paths.authMd,
    register_uri: registration,
    identity_endpoint: registration,
    claim_uri: claim,
    claim_endpoint: claim,
    revocation_uri: baseUrl + paths.revoke,
    identity_types_supported: identityTypes,
    flows_supported: flows,
    credential_types_supported: credentials,
    anonymous: { credential_types_supported: agentCredentials },
    identity_assertion: {
      assertion_types_supported: [ID_JAG_TOKEN_TYPE],
      credential_types_supported: agentCredentials,
    },
    service_auth: { credential_types_supported: agentCredentials },
  };
}

/**
 * Members that the authorization server adds to both metadata documents (RFC 8414, OpenID Connect
 * Discovery 1.0), in addition to those that follow from its configuration. The trusted assertion
 * issuers are not published.
 */
export function extraAuthorizationServerMetadata(baseUrl: string) {
  return {
    service_documentation: baseUrl + paths.reference,
    /** Resources whose tokens this server issues (RFC 9728 section 4). */
    protected_resources: [baseUrl, baseUrl + paths.mcp],
    authorization_grant_profiles_supported: [ID_JAG_PROFILE],
    agent_auth: agentAuth(baseUrl),
  };
}
