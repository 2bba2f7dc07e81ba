import { ID_JAG, ID_JAG_PROFILE } from "../src/auth/assertions/oauth-urns.ts";
import { paths } from "./paths.ts";
import type { Site } from "./site.ts";

/** The identity types of the interface (section 3). */
const identityTypes = [
  "anonymous",
  "identity_assertion",
  "service_auth",
  "agent",
  "user",
  "service",
];

/** The registration flows of the interface (section 3). */
const flows = ["agent_verified", "user_claimed", "client_credentials"];

/** What is accepted from callers (interface section 5.1). */
const credentials = ["api_key", "bearer_token", "oauth2_client_credentials"];

/** What an agent that registers is given: a client secret, for which it gets access tokens. */
const agentCredentials = ["oauth2_client_credentials", "bearer_token"];

/** What these members follow from. */
type Grounds = Pick<Site, "baseUrl">;

/**
 * How agents register themselves and are claimed, in the vocabulary of auth.md: the names of its
 * first version stand beside those of later ones, since there are readers of both (discovery
 * section 1.2).
 */
function agentAuth({ baseUrl }: Grounds) {
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
      assertion_types_supported: [ID_JAG],
      credential_types_supported: agentCredentials,
    },
    service_auth: { credential_types_supported: agentCredentials },
  };
}

/**
 * Members that the authorization server adds to both of its metadata documents (RFC 8414, OpenID
 * Connect Discovery 1.0) beyond those that follow from its configuration. Whose assertions are
 * trusted is not among them (discovery section 1.6).
 */
export function authorizationServerExtras(grounds: Grounds) {
  const { baseUrl } = grounds;
  return {
    service_documentation: baseUrl + paths.reference,
    /** RFC 9728, section 4. */
    protected_resources: [baseUrl, baseUrl + paths.mcp],
    authorization_grant_profiles_supported: [ID_JAG_PROFILE],
    agent_auth: agentAuth(grounds),
  };
}
