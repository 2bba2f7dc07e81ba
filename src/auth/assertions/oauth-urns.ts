/** Grant type of an assertion at the token endpoint (RFC 7523 section 2.1). */
export const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/** What `assertion_type` says of an identity assertion authorization grant (ID-JAG); auth.md and
 *  draft-ietf-oauth-identity-assertion-authz-grant. */
export const ID_JAG = "urn:ietf:params:oauth:token-type:id-jag";

/** The grant profile that metadata name for it (same draft). */
export const ID_JAG_PROFILE = "urn:ietf:params:oauth:grant-profile:id-jag";
