import {
  errors,
  type KoaContextWithOIDC,
  type Provider,
  type TokenEndpointGrantContext,
} from "oidc-provider";
import { allowedResources } from "../../access/audience.ts";
import { allScopes, parseScopeNames, scopeAdvice } from "../../access/scopes.ts";
import type { AccountService } from "../../principals/accounts/accounts.ts";
import { assertionErrors } from "../assertions/assertion-claims.ts";
import {
  type AssertionVerifier,
  usedAssertions,
  type VerifiedAssertion,
} from "../assertions/id-jag.ts";
import { JWT_BEARER_GRANT_TYPE } from "../assertions/oauth-urns.ts";
import { pendingIssuance, requestStateOf } from "./request-state.ts";
import { type ResourcePolicy, resourceIndicatorFeature } from "./resource-indicators.ts";
import { ACCESS_TOKEN_LIFETIME_SECONDS } from "./token-lifetimes.ts";

/** Dependencies of the jwt-bearer grant. */
interface JwtBearerOptions extends ResourcePolicy {
  readonly verifier: AssertionVerifier;
  readonly accounts: AccountService;
}

type Context = TokenEndpointGrantContext<{ readonly assertion?: string }>;

/**
 * Verifies the assertion of a request. Every failure except an unreachable issuer has the same
 * error, so that nobody learns by trial why an assertion is invalid.
 */
async function verifyAssertion(
  ctx: Context,
  { verifier }: JwtBearerOptions,
): Promise<VerifiedAssertion> {
  const { params, client } = ctx.oidc;
  if (!params.assertion) throw new errors.InvalidRequest("the parameter assertion is required");

  const verified = await verifier.forClient(params.assertion, client.clientId);
  if (typeof verified !== "string") return verified;
  if (verified !== "issuer_unreachable") throw new errors.InvalidGrant(verified);
  const error = new errors.TemporarilyUnavailable(assertionErrors[verified]);
  throw Object.assign(error, { status: 503, statusCode: 503 });
}

/**
 * The audience of the token: the requested resource, or by default the first resource of the
 * assertion (RFC 8707).
 */
function grantedAudience(
  ctx: Context,
  { resources }: VerifiedAssertion,
  policy: ResourcePolicy,
): string {
  const { params, client } = ctx.oidc;
  const { baseUrl } = policy;
  const requested = String(params.resource ?? resources?.[0] ?? baseUrl);
  const { audience = baseUrl } = resourceIndicatorFeature(policy).getResourceServerInfo(
    ctx,
    requested,
    client,
  );
  if (!allowedResources(resources, baseUrl).includes(audience)) throw new errors.InvalidTarget();
  return audience;
}

/**
 * The scope of the token: the scopes that both the assertion and the client's registration allow,
 * limited to the requested scopes, if any (RFC 6749 section 3.3).
 */
function grantedScope(ctx: Context, { scopes }: VerifiedAssertion): string {
  const { params, client } = ctx.oidc;
  const { metadata = client } = requestStateOf(ctx).clients.get(client.clientId)?.value ?? {};
  const registered = parseScopeNames(metadata.scope ?? "");
  const allowed = allScopes.filter(
    (scope) => registered.includes(scope) && (scopes?.includes(scope) ?? true),
  );
  const requested = parseScopeNames(params.scope ?? "");
  const granted = allowed.filter((scope) => requested.length === 0 || requested.includes(scope));
  if (granted.length > 0) return granted.join(" ");
  const choice = allowed.length === 0 ? "no scope" : allowed.join(" ");
  throw new errors.InvalidScope(
    `this assertion allows ${choice}; ${scopeAdvice}`,
    requested.join(" "),
  );
}

/** Records the use of the assertion in the commit that issues the token. */
function recordUse({ use: document }: VerifiedAssertion, grantId: string): void {
  pendingIssuance()?.issued.push({
    model: "IdentityAssertion",
    collection: usedAssertions,
    value: { grantId },
    ...document,
  });
}

/**
 * Issues the token.
 * @returns The verified assertion.
 */
async function exchange(ctx: Context, provider: Provider, options: JwtBearerOptions) {
  const { client } = ctx.oidc;
  const assertion = await verifyAssertion(ctx, options);
  const aud = grantedAudience(ctx, assertion, options);
  const scope = grantedScope(ctx, assertion);
  const { id: accountId } = await options.accounts.findOrCreateBySubject(assertion.subject);

  const grant = new provider.Grant({ accountId, clientId: client.clientId });
  // The types of oidc-provider omit `expiresIn`. The grant expires together with its only token.
  Object.assign(grant, { expiresIn: ACCESS_TOKEN_LIFETIME_SECONDS });
  grant.addResourceScope(aud, scope);
  const grantId = await grant.save();
  const life = { expiresIn: ACCESS_TOKEN_LIFETIME_SECONDS };
  const token = new provider.AccessToken({
    client,
    accountId,
    grantId,
    gty: JWT_BEARER_GRANT_TYPE,
    aud,
    scope,
    ...life,
  });
  ctx.oidc.entity("AccessToken", token);
  ctx.body = {
    access_token: await token.save(),
    expires_in: token.expiration,
    token_type: token.tokenType,
    scope,
  };
  recordUse(assertion, grantId);
  return assertion;
}

/**
 * Registers the grant of RFC 7523 for identity assertions: an access token for the person whom a
 * trusted provider identifies, valid for the client that the assertion was issued to. There is no
 * refresh token, so the client needs a new assertion from the provider for each token. The token
 * has no sign-in time, since the person did not sign in here, so it cannot be used to claim an
 * agent.
 *
 * Must be called before `commitIssuancesOnResponse`, so that a replay detected by the commit is
 * recorded.
 */
export function registerJwtBearerGrant(provider: Provider, options: JwtBearerOptions): void {
  provider.registerGrantType(
    JWT_BEARER_GRANT_TYPE,
    async (ctx) => {
      requestStateOf(ctx).assertion = await exchange(ctx as Context, provider, options);
    },
    ["assertion", "scope", "resource"],
  );
  provider.use(async (ctx, next) => {
    await next();
    const { assertion } = requestStateOf(ctx);
    if (assertion === undefined || ctx.status !== 400) return;
    const { client } = (ctx as KoaContextWithOIDC).oidc;
    await options.verifier.recordReplay(assertion, String(client?.clientId));
  });
}
