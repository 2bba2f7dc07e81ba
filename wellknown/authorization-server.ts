import { ID_JAG, ID_JAG_PROFILE } from "../src/auth/assertions/names.ts";
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

/** What an agent that registers is given: a client secret, for which it gets access tokens
 *  (interface section 5.1). */
const agentCredentials = ["oauth2_client_credentials", "bearer_token"];

/**
 * How agents register themselves and are claimed, in the vocabulary of auth.md: the names of its
 * first version stand beside those of later ones, since there are readers of both (discovery
 * section 1.2).
 */
function agentAuth({ baseUrl }: Site) {
  return {
    register_uri: `${baseUrl}/oauth/register`,
    identity_endpoint: `${baseUrl}/oauth/register`,
    claim_uri: `${baseUrl}/oauth/claim`,
    claim_endpoint: `${baseUrl}/oauth/claim`,
    revocation_uri: `${baseUrl}/oauth/revoke`,
    identity_types_supported: identityTypes,
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
export function authorizationServerExtras(site: Site) {
  const { baseUrl } = site;
  return {
    /** RFC 9728, section 4. */
    protected_resources: [baseUrl, `${baseUrl}/mcp`],
    authorization_grant_profiles_supported: [ID_JAG_PROFILE],
    agent_auth: agentAuth(site),
  };
}
