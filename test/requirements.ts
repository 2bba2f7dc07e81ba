import type { Tier } from "./tiers.ts";

/** One requirement: a fact that the interface promises to its callers. */
interface Requirement {
  /**
   * Section of the interface, a slash, and a slug. It is unique and stable, because tests cite it.
   */
  readonly id: string;
  /** The fact in one sentence. */
  readonly text: string;
  /**
   * The first test tier that proves the fact. A test of this manifest compares the tier with those
   * of the citing tests.
   */
  readonly tier: Tier;
}

/** Ids of the requirements that `npm run test:full` proves; `npm test` proves all others. */
const FULL: ReadonlySet<string> = new Set([
  "1/alerts",
  "1/discovery",
  "1/live-markets",
  "4.10/reference",
  "6/signal-shift",
  "6/volatility",
  "8/secret-life-restart",
]);

/** Requirement texts by id. */
type Facts = Readonly<Record<string, string>>;

/** Turns texts by id into requirements. */
function facts(texts: Facts): readonly Requirement[] {
  return Object.entries(texts).map(([id, text]) => ({
    id,
    text,
    tier: FULL.has(id) ? "full" : "quick",
  }));
}

const purpose = facts({
  "1/name":
    "The service calls itself Market Signal and Verification Service wherever it names itself.",
  "1/stocks": "Stocks are scored.",
  "1/crypto": "Coins of the cryptocurrency market are scored.",
  "1/score": "Every scored instrument has one composite score, a whole number on a 0 to 100 scale.",
  "1/signal": "Every scored instrument has a directional signal, one of exactly three values.",
  "1/signal-long": "The signal can be LONG.",
  "1/signal-short": "The signal can be SHORT.",
  "1/signal-wait": "The signal can be WAIT.",
  "1/factors": "A score can be taken apart into four factors.",
  "1/factor-social": "One factor reads the language of social messages.",
  "1/factor-momentum": "One factor measures technical momentum.",
  "1/factor-valuation": "One factor measures valuation.",
  "1/factor-darkpool": "One factor measures dark pool activity.",
  "1/darkpool-prints": "Single dark pool transactions of institutions can be read.",
  "1/darkpool-blocks": "Aggregates over block trades can be read.",
  "1/health": "GET /api/health tells how the service is doing.",
  "1/self-registration": "An agent registers itself at an OAuth endpoint without a person's help.",
  "1/token-issuance": "A registered agent gets its access token from an OAuth endpoint.",
  "1/mcp": "Automated clients are served over the Model Context Protocol.",
  "1/json": "Request and response bodies are JSON wherever no form is asked for.",
  "1/form": "Only the token request and the revocation request are form-encoded.",
  "1/apply": "Applications for early access are taken in by POST /api/apply.",
  "1/contact": "Inquiries are taken in by POST /api/contact.",
  "1/verification": "A caller can verify a score from its factors and the published method.",
  "1/live-markets": "The stocks and coins are those of the running real markets.",
  "1/alerts": "Webhooks can be registered to be told of volatility and of signal shifts.",
  "1/discovery": "Automated clients find everything they need in discovery documents.",
});

const health = facts({
  "2.1/status": "status is a string that names the operational state.",
  "2.1/status-ok": "status is ok while the engine is healthy.",
  "2.1/status-degraded": "status is not ok, and reasons say why, while the engine is not healthy.",
  "2.1/engine": "engine is a string, the engine's name in free text.",
  "2.1/timestamp": "timestamp is an ISO 8601 instant in UTC with milliseconds.",
  "2.1/security": "security is a string that says if sanitization and rate limits are active.",
  "2.1/security-sanitization": "security names sanitization itself.",
});

const application = facts({
  "2.2/name": "An application must have a name, a string for a person or an organisation.",
  "2.2/email": "An application must have an email, a string that is an e-mail address.",
  "2.2/focus": "An application may leave focus out; other than the four values is not taken.",
  "2.2/focus-retail": "focus can be retail.",
  "2.2/focus-quant": "focus can be quant.",
  "2.2/focus-fund": "focus can be fund.",
  "2.2/focus-general": "focus can be general.",
  "2.2/success": "success is the boolean true for an accepted application.",
  "2.2/message": "message is a string for a human reader.",
  "2.2/data": "data is an object about the accepted application.",
  "2.2/data-queue-token": "data.queueToken is a string, the token of the seat in the queue.",
  "2.2/data-name": "data.name gives the applicant's name back as it was sanitized.",
  "2.2/data-email": "data.email gives the applicant's address back as it was sent.",
  "2.2/data-focus": "data.focus gives the focus back that was sent.",
  "2.2/data-registered-at": "data.registeredAt is the date-time at which the seat was taken.",
  "2.2/described": "The interface description lists all five members of data.",
  "2.2/optional": "focus and registeredAt are described as members of data that may be absent.",
});

const inquiry = facts({
  "2.3/email": "An inquiry must have an email, the sender's address as a string in e-mail format.",
  "2.3/message": "An inquiry must have a message, a string with something in it.",
});

const registration = facts({
  "2.4/client-name": "A registration takes client_name, a string that names the software.",
  "2.4/redirect-uris": "A registration takes redirect_uris, a list of URIs.",
  "2.4/grant-types": "A registration takes grant_types, a list of strings.",
  "2.4/grant-client-credentials": "client_credentials is accepted as a grant type.",
  "2.4/grant-refresh-token": "refresh_token is accepted as a grant type.",
  "2.4/grant-refresh-token-alone":
    "refresh_token is a grant beside another one; alone it is refused with those that can stand alone.",
  "2.4/type-alone":
    "A registration that names a type or only a name, and no grant type, is client_credentials.",
  "2.4/response-types": "A registration takes response_types, a list of strings.",
  "2.4/response-token": "token is accepted as a response type.",
  "2.4/scope": "A registration takes scope, names separated by spaces.",
  "2.4/auth-method": "A registration takes token_endpoint_auth_method, a string.",
  "2.4/auth-client-secret-post": "client_secret_post is accepted as authentication method.",
  "2.4/client-id": "client_id is a string that identifies the new client.",
  "2.4/client-secret": "client_secret is a string that only the new client knows.",
  "2.4/issued-at": "client_id_issued_at is the time of registration in whole Unix seconds.",
  "2.4/secret-expires-at": "client_secret_expires_at is a whole number of Unix seconds.",
  "2.4/secret-expires-never": "client_secret_expires_at 0 says that the secret stays valid.",
  "2.4/registration-end":
    "The answer says when the registration ends, also where client_secret_expires_at is 0.",
  "2.4/granted-grant-types": "The answer's grant_types lists the grant types the client has.",
  "2.4/granted-scope": "The answer's scope has the scopes the client has, separated by spaces.",
  "2.4/client-uri": "registration_client_uri is /oauth/register/ plus client_id at the base URL.",
  "2.4/client-record": "The client's record is found at its registration_client_uri.",
});

const accessToken = facts({
  "2.5/access-token": "access_token is a string.",
  "2.5/token-type": "token_type is Bearer.",
  "2.5/expires-in": "expires_in is a whole number of seconds.",
  "2.5/scope": "scope has the granted scopes, separated by spaces.",
});

const claim = facts({
  "2.6/agent-id": "A claim has agent_id, the client_id of an agent that registered anonymously.",
  "2.6/claim-code": "A claim has claim_code, a string that proves the claimer was told of it.",
});

const identities = facts({
  "3/anonymous": "anonymous is an identity type.",
  "3/anonymous-at-once":
    "An anonymous agent is registered at once, with what is allowed unclaimed.",
  "3/anonymous-claimable": "An anonymous agent can later be bound to a user by a claim.",
  "3/identity-assertion": "identity_assertion is an identity type.",
  "3/identity-assertion-verified": "An identity provider's assertion is verified at registration.",
  "3/service-auth": "service_auth is an identity type.",
  "3/service-auth-claimed": "service_auth is for one user, bound by verification and claim.",
  "3/agent": "agent is an identity type.",
  "3/user": "user is an identity type.",
  "3/service": "service is an identity type.",
  "3/flow-agent-verified": "agent_verified is a registration flow.",
  "3/flow-user-claimed": "user_claimed is a registration flow.",
  "3/flow-client-credentials":
    "client_credentials is a registration flow, named beside the others.",
});

const endpoints = facts({
  "4/base-url": "Every path, also one that a document publishes, starts at the base URL.",
  "4.1/request": "GET /api/health takes no body and no parameters.",
  "4.1/200": "GET /api/health answers 200 with the health object as JSON.",
  "4.2/json": "POST /api/apply takes a JSON body with the application fields.",
  "4.2/200": "POST /api/apply answers 200 with the application object as JSON.",
  "4.2/validated": "POST /api/apply validates what was sent.",
  "4.2/sanitized": "POST /api/apply sanitizes what was sent.",
  "4.2/seat": "POST /api/apply reserves a seat in the queue.",
  "4.2/400": "POST /api/apply answers 400 to a wrong email, a wrong name or a wrong structure.",
  "4.2/429": "POST /api/apply answers 429 to a caller over the rate limit.",
  "4.2/test-credentials": "POST /api/apply with name, email and focus yields test credentials.",
  "4.2/test-credentials-told":
    "The answer says that the test credential is a key, how it is sent, its scopes and its end.",
  "4.3/json": "POST /api/contact takes a JSON body with the inquiry fields.",
  "4.3/200": "POST /api/contact records the inquiry and answers 200.",
  "4.3/400": "POST /api/contact answers 400 to wrong input or to an empty message.",
  "4.4/symbol": "GET /api/signals takes an instrument's symbol as a query parameter.",
  "4.4/bearer": "GET /api/signals lets a bearer token in.",
  "4.4/api-key": "GET /api/signals lets an API key in.",
  "4.4/protected": "GET /api/signals refuses a call without a credential.",
  "4.5/json": "POST /oauth/register takes a JSON body with the registration fields.",
  "4.5/unauthenticated": "POST /oauth/register asks for no credential.",
  "4.5/response": "POST /oauth/register answers with the registration object as JSON.",
  "4.6/form": "POST /oauth/token takes a form-encoded body.",
  "4.6/grant-type": "POST /oauth/token takes grant_type, which can be client_credentials.",
  "4.6/client-id": "POST /oauth/token takes client_id, the identifier of a registered client.",
  "4.6/client-secret": "POST /oauth/token takes client_secret, the secret of that client.",
  "4.6/scope": "POST /oauth/token takes scope, names separated by spaces.",
  "4.6/scope-encoded": "POST /oauth/token takes scope in URL encoding too.",
  "4.6/response": "POST /oauth/token answers with the access token object as JSON.",
  "4.8/form": "POST /oauth/revoke takes a form-encoded body.",
  "4.8/token": "POST /oauth/revoke takes token, a string.",
  "4.8/hint": "POST /oauth/revoke takes token_type_hint, which can be access_token.",
  "4.8/effect": "A credential that an agent was issued is worthless once revoked.",
  "4.7/json": "POST /oauth/claim takes a JSON body with the claim fields.",
  "4.7/bearer": "POST /oauth/claim takes its caller from a bearer token in the header.",
  "4.7/effect": "POST /oauth/claim binds an anonymous agent to an authenticated identity.",
  "4.7/keeps": "A claim takes no scope away that the agent had.",
  "4.9/authorize": "GET /oauth/authorize starts the authorization code flow.",
  "4.9/pkce": "The authorization code flow is used with PKCE.",
});

const addresses = facts({
  "4.10/oauth-authorization-server":
    "/.well-known/oauth-authorization-server has the authorization server's metadata.",
  "4.10/oauth-protected-resource":
    "/.well-known/oauth-protected-resource has the resource's metadata as RFC 9728 defines it.",
  "4.10/openid-configuration":
    "/.well-known/openid-configuration has the OpenID Connect discovery document.",
  "4.10/mcp": "/mcp speaks the Model Context Protocol.",
  "4.10/server-card": "/.well-known/mcp/server-card.json has the card of the MCP server.",
  "4.10/agent-skills": "/.well-known/agent-skills/index.json has the index of agent skills.",
  "4.10/api-catalog": "The API can be discovered by an API catalog as RFC 9727 defines it.",
  "4.10/web-linking": "The API can be discovered by links as RFC 8288 defines them.",
  "4.10/openapi": "/docs/api/openapi.json has an OpenAPI 3.1 description.",
  "4.10/reference": "/docs/api has an API reference that people can read.",
});

const authentication = facts({
  "5.1/bearer-token": "A short-lived access token is sent as Authorization: Bearer.",
  "5.1/api-key": "A long-lived institutional key is sent in the header x-api-key.",
  "5.1/client-credentials": "Client id and secret are exchanged at POST /oauth/token.",
  "5.2/client-credentials": "The client credentials flow is declared with /oauth/token.",
  "5.2/openid-address": "OpenID Connect discovery is at /.well-known/openid-configuration.",
  "5.2/issuer": "The issuer is the base URL itself.",
  "5.2/registration-address": "The address of registration is /oauth/register.",
  "5.2/revocation-address": "The address of revocation is /oauth/revoke.",
  "5.2/authorization-code":
    "The authorization code flow with PKCE is declared with /oauth/authorize and /oauth/token.",
  "5.2/claim-address": "The address of the claim is /oauth/claim.",
  "5.2/credential-api-key": "api_key is declared as a supported credential type.",
  "5.2/credential-bearer-token": "bearer_token is declared as a supported credential type.",
  "5.2/credential-client-credentials":
    "oauth2_client_credentials is declared as a supported credential type.",
  "5.2/userinfo": "OpenID Connect has a userinfo endpoint, which the discovery document names.",
  "5.2/identity-types-taken":
    "Every identity type that is declared as supported is taken or has its own way in.",
  "5.2/identity-types": "The supported identity types are declared, those of section 3.",
});

const scopes = facts({
  "5.3/signals-read": "signals:read opens composite scores and signals.",
  "5.3/darkpool-read": "darkpool:read opens dark pool prints and block aggregates.",
  "5.3/factor-read": "factor:read opens the breakdown into four factors.",
  "5.3/signals-read-agent": "The client credentials flow grants signals:read.",
  "5.3/darkpool-read-agent": "The client credentials flow grants darkpool:read.",
  "5.3/factor-read-agent": "The client credentials flow grants factor:read.",
  "5.3/alerts-write-agent": "alerts:write is no scope that client credentials alone bring.",
  "5.3/alerts-write-supported": "alerts:write is among the scopes declared as supported.",
  "5.3/signals-read-user": "The authorization code flow grants signals:read.",
  "5.3/darkpool-read-user": "The authorization code flow grants darkpool:read.",
  "5.3/factor-read-user": "The authorization code flow grants factor:read.",
  "5.3/alerts-write-user": "The authorization code flow grants alerts:write.",
  "5.3/alerts-write": "alerts:write opens the registration of alert webhooks.",
  "5.3/flows-described": "The interface description lists the scopes of each of the two flows.",
});

const rules = facts({
  "5.4/1": "A client's id and secret with grant_type=client_credentials buy a bearer token.",
  "5.4/1-life": "A bearer token is good for expires_in seconds.",
  "5.4/2-bearer": "A protected call takes the bearer token that it presents.",
  "5.4/2-api-key": "A protected call takes the API key that it presents.",
  "5.4/3-health": "GET /api/health needs no credential.",
  "5.4/3-apply": "POST /api/apply needs no credential.",
  "5.4/3-contact": "POST /api/contact needs no credential.",
  "5.4/3-register": "POST /oauth/register needs no credential.",
  "5.4/3-token": "POST /oauth/token needs no credential but the client's own.",
  "5.4/3-described": "The interface description declares no security for these five operations.",
});

const events = facts({
  "6/volatility": "A webhook alert tells of volatility.",
  "6/signal-shift": "A webhook alert tells of a signal shift.",
  "6/scope": "Who registers an endpoint for alerts needs alerts:write.",
});

const errors = facts({
  "7/apply-email": "POST /api/apply with a wrong email is a 400.",
  "7/apply-name": "POST /api/apply with a wrong name is a 400.",
  "7/apply-payload": "POST /api/apply with a malformed payload is a 400.",
  "7/apply-rate": "POST /api/apply over the rate limit is a 429.",
  "7/contact-input": "POST /api/contact with wrong input is a 400.",
  "7/contact-empty": "POST /api/contact with an empty message is a 400.",
});

const limits = facts({
  "8/token-life": "An access token lives for expires_in seconds, 3600 unless set otherwise.",
  "8/secret-life": "A client secret whose client_secret_expires_at is 0 never expires.",
  "8/secret-life-restart": "A client secret that never expires outlives a restart too.",
  "8/score-range": "No score lies under 0 or over 100.",
  "8/apply-rate": "POST /api/apply has a rate limit, and a caller over it gets 429.",
  "8/sanitized": "Script and injection content in what callers send does no harm.",
  "8/sanitized-markup":
    "Markup in the text of a name, a message or a client name is refused; a < that is none is kept.",
});

const versioning = facts({
  "9/agent-skills": "The index of agent skills follows version 0.2.0 of its specification.",
  "9/version": "The interface description has the version label 1.0.0.",
  "9/openapi": "The interface description has the OpenAPI version 3.1.0.",
  "9/paths": "No path has a version segment.",
});

/**
 * Requirements that a second test file proves as well, by id, each with the reason. Every other
 * requirement is proved in one file.
 */
export const SECOND_HOMES: Readonly<Record<string, string>> = {
  "4/base-url": "Pages behind a real proxy have links that no document lists.",
  "4.10/oauth-authorization-server": "An independent client needs no other document to go on.",
  "4.10/oauth-protected-resource": "An independent client finds it by the refusal alone.",
  "5.2/issuer": "An independent client refuses an issuer that is not the address it asked.",
};

/** All requirements that can be met, in the order of the interface's sections. */
export const requirements: readonly Requirement[] = [
  ...purpose,
  ...health,
  ...application,
  ...inquiry,
  ...registration,
  ...accessToken,
  ...claim,
  ...identities,
  ...endpoints,
  ...addresses,
  ...authentication,
  ...scopes,
  ...rules,
  ...events,
  ...errors,
  ...limits,
  ...versioning,
];
