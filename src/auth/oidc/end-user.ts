import {
  type AccessToken,
  type ClientCredentials,
  type Configuration,
  errors,
  interactionPolicy,
  type KoaContextWithOIDC,
  type Provider,
} from "oidc-provider";
import type { AccountService } from "../../principals/accounts/accounts.ts";
import type { BrowserSession } from "../../principals/accounts/browser-sessions.ts";
import type { GrantRecord } from "../../principals/accounts/grants.ts";
import type { Agent } from "../../principals/agents/agent.ts";
import { approvesOfflineAccess, requestsOfflineAccess } from "./consent.ts";
import { approvesRedirect } from "./redirect-uris.ts";
import { requestStateOf } from "./request-state.ts";

/** Dependencies for finding the people that clients act for. */
export interface EndUserLookup {
  readonly accounts: AccountService;
  /**
   * Finds the session of a browser.
   * @param cookie The browser's Cookie header.
   */
  readonly findSession: (cookie: string | undefined) => Promise<BrowserSession | undefined>;
}

/**
 * Creates the function that finds a person for an ID token. The subject is the account id, which
 * reveals nothing about the person.
 */
export function createAccountFinder({ accounts }: EndUserLookup): Configuration["findAccount"] {
  return async (_ctx, sub) => {
    const account = await accounts.find(sub);
    return account && { accountId: sub, claims: () => ({ sub }) };
  };
}

/**
 * Reason for the consent prompt: the person has not approved responses to the origin of the
 * redirect URI.
 */
export const UNAPPROVED_REDIRECT_REASON = "redirect_not_approved";

/** Reason for the consent prompt: the person has not approved offline access. */
export const UNAPPROVED_OFFLINE_ACCESS_REASON = "lasting_not_approved";

/** Whether a client requests offline access. */
const requestsOfflineAccessIn = ({ oidc }: KoaContextWithOIDC): boolean =>
  requestsOfflineAccess(oidc.client, oidc.params?.scope);

/**
 * Checks that the redirect URI is still registered. A client can remove the URI while a page is
 * open, and oidc-provider checks the URI only before the first page.
 * @throws `invalid_redirect_uri`
 */
function checkRedirect({ oidc }: KoaContextWithOIDC): void {
  if (oidc.client?.redirectUriAllowed(String(oidc.params?.redirect_uri)) === true) return;
  throw new errors.InvalidRedirectUri();
}

/**
 * The prompts of oidc-provider, with these additions. A person must sign in when nobody is signed
 * in at the browser, or when the signed-in person differs from the person of oidc-provider's
 * session, since a sign-in is for the whole service and not for one request. A person must consent
 * when no consent page of this client has shown them the origin of the redirect URI, or when the
 * client requests offline access and no page has mentioned it. The content of the page is fixed
 * when the prompt starts, and checked again when the request continues.
 */
export function promptPolicy(): readonly interactionPolicy.Prompt[] {
  const policy = interactionPolicy.base();
  policy.get("login")?.checks.add(
    new interactionPolicy.Check("not_signed_in", "nobody is signed in", "login_required", (ctx) => {
      checkRedirect(ctx);
      const { accountId } = requestStateOf(ctx);
      return accountId === undefined || ctx.oidc.account?.accountId !== accountId;
    }),
  );
  const consent = policy.get("consent");
  if (consent === undefined) throw new Error("oidc-provider has no consent prompt");
  consent.details = (ctx) => ({ isLasting: requestsOfflineAccessIn(ctx) });
  consent.checks.add(
    new interactionPolicy.Check(
      UNAPPROVED_REDIRECT_REASON,
      "the person has not approved this redirect URI",
      "consent_required",
      ({ oidc }) => !approvesRedirect(oidc.grant as GrantRecord, String(oidc.params?.redirect_uri)),
    ),
  );
  consent.checks.add(
    new interactionPolicy.Check(
      UNAPPROVED_OFFLINE_ACCESS_REASON,
      "the person has not approved offline access",
      "consent_required",
      (ctx) =>
        requestsOfflineAccessIn(ctx) && !approvesOfflineAccess(ctx.oidc.grant as GrantRecord),
    ),
  );
  return policy;
}

/** The static members of oidc-provider's session class, which the library's types omit. */
interface ProviderSessions {
  get(ctx: KoaContextWithOIDC): Promise<{
    readonly accountId?: string | undefined;
    destroy(): Promise<void>;
  }>;
  new (): Awaited<ReturnType<ProviderSessions["get"]>>;
}

/**
 * Ends oidc-provider's session of a browser when its person has signed out or another person has
 * signed in, so that signing out takes effect everywhere at once. Otherwise the session would
 * continue for the previous person, or redirect to logout pages that this server does not have. A
 * browser without a signed-in person gets a new session for each request: otherwise each request
 * with the cookie of an ended session would store another session.
 */
export function endStaleSessions(provider: Provider, { findSession }: EndUserLookup): void {
  const sessions = provider.Session as unknown as ProviderSessions;
  const { get } = sessions;
  sessions.get = async function (this: ProviderSessions, ctx) {
    const session = await get.call(this, ctx);
    const person = await findSession(ctx.headers.cookie);
    requestStateOf(ctx).accountId = person?.accountId;
    if (session.accountId !== undefined) {
      if (session.accountId === person?.accountId) return session;
      await session.destroy();
    }
    const fresh = new sessions();
    ctx.oidc.entity("Session", fresh);
    return fresh;
  };
}

/** Token claims about the owner of an agent; `undefined` when the agent has no owner. */
export function ownerClaims({ owner, identityType }: Agent) {
  return owner && { owner: owner.accountId, identity_type: identityType };
}

/**
 * Additional claims of an access token: for a person, the time of the sign-in; for an agent with an
 * owner, the owner.
 */
export function extraTokenClaims(
  ctx: KoaContextWithOIDC | undefined,
  token: AccessToken | ClientCredentials,
) {
  if (token.kind === "ClientCredentials") {
    const agent = requestStateOf(ctx).clients.get(token.clientId ?? "")?.value.agent;
    return agent && ownerClaims(agent);
  }
  const { AuthorizationCode, RefreshToken } = ctx?.oidc.entities ?? {};
  const { authTime: auth_time } = AuthorizationCode ?? RefreshToken ?? {};
  return auth_time === undefined ? token.extra : { ...token.extra, auth_time };
}

/** Error code of a rejected userinfo request (RFC 6750 section 3.1). */
type UserInfoError = "invalid_token" | "insufficient_scope";

/**
 * Answers a userinfo request (OpenID Connect Core 1.0 section 5.3) with the claims of the ID token.
 * An access token has only the scopes of its resource, so the grant decides whether the client may
 * identify the person (`openid`).
 *
 * @param token An access token; other credentials are rejected, because API keys and tokens of
 * agents have no person.
 */
export async function userInfoOf(
  { AccessToken, Grant }: Provider,
  token: string,
): Promise<{ readonly sub: string } | UserInfoError> {
  const found = await AccessToken.find(token);
  const grant = found?.grantId === undefined ? undefined : await Grant.find(found.grantId);
  if (found === undefined || grant === undefined) return "invalid_token";
  const isIdentified = grant.getOIDCScope().split(" ").includes("openid");
  return isIdentified && found.accountId !== undefined
    ? { sub: found.accountId }
    : "insufficient_scope";
}
