/** Grant type of an assertion at the token endpoint (RFC 7523 section 2.1). */
export const JWT_BEARER_GRANT_TYPE = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/**
 * Value of `assertion_type` for an identity assertion authorization grant (ID-JAG), as defined by
 * auth.md and draft-ietf-oauth-identity-assertion-authz-grant.
 */
export const ID_JAG_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:id-jag";

/**
 * Name of the ID-JAG grant profile in the server metadata
 * (draft-ietf-oauth-identity-assertion-authz-grant).
 */
export const ID_JAG_PROFILE = "urn:ietf:params:oauth:grant-profile:id-jag";
