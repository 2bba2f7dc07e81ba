import {
  type AccessToken,
  type ClientCredentials,
  type Configuration,
  errors,
  interactionPolicy,
  type KoaContextWithOIDC,
  type Provider,
} from "oidc-provider";
import type { Accounts } from "../accounts/accounts.ts";
import type { Session } from "../accounts/browser-sessions.ts";
import type { GrantRecord } from "../accounts/grants.ts";
import type { Agent } from "../agents/agent.ts";
import { approvesOfflineAccess, requestsOfflineAccess } from "./consent.ts";
import { approvesRedirect } from "./redirect-uris.ts";
import { stateOf } from "./request-state.ts";

/** How the people are found that clients act for. */
export interface EndUsers {
  readonly accounts: Accounts;
  /** Who is signed in at a browser. @param cookie Its Cookie header. */
  readonly signedIn: (cookie: string | undefined) => Promise<Session | undefined>;
}

/** Finds a person for an ID token. Its subject is the account id, which reveals nothing else. */
export function accountFinder({ accounts }: EndUsers): Configuration["findAccount"] {
  return async (_ctx, sub) => {
    const account = await accounts.find(sub);
    return account && { accountId: sub, claims: () => ({ sub }) };
  };
}

/** Reason of the consent prompt: the person has not approved answers at this origin. */
export const UNAPPROVED_REDIRECT = "redirect_not_approved";

/** Reason of the consent prompt: the person has not approved access that lasts. */
export const UNAPPROVED_OFFLINE_ACCESS = "lasting_not_approved";

/** Whether a client requests access that lasts. */
const requestsOfflineAccessIn = ({ oidc }: KoaContextWithOIDC): boolean =>
  requestsOfflineAccess(oidc.client, oidc.params?.scope);

/** A client can give up a redirect URI while a page is open, and oidc-provider checks it only
 *  before the first. @throws `invalid_redirect_uri` */
function checkRedirect({ oidc }: KoaContextWithOIDC): void {
  if (oidc.client?.redirectUriAllowed(String(oidc.params?.redirect_uri)) === true) return;
  throw new errors.InvalidRedirectUri();
}

/** Prompts a person as oidc-provider does and, in addition: to sign in whenever nobody, or
 *  somebody else, is signed in at the browser, since a sign-in is for the whole service and not
 *  for one request; and to consent whenever the redirect URI is at an origin that the consent
 *  page has not shown them for this client, or the client requests access that lasts and the page
 *  has not said so. What the page says is fixed when the prompt begins, and checked again when the
 *  request goes on. */
export function promptPolicy(): readonly interactionPolicy.Prompt[] {
  const policy = interactionPolicy.base();
  policy.get("login")?.checks.add(
    new interactionPolicy.Check(
      "not_signed_in",
      "nobody is signed in here",
      "login_required",
      (ctx) => {
        checkRedirect(ctx);
        const { accountId } = stateOf(ctx);
        return accountId === undefined || ctx.oidc.account?.accountId !== accountId;
      },
    ),
  );
  const consent = policy.get("consent");
  if (consent === undefined) throw new Error("oidc-provider has no consent prompt");
  consent.details = (ctx) => ({ isLasting: requestsOfflineAccessIn(ctx) });
  consent.checks.add(
    new interactionPolicy.Check(
      UNAPPROVED_REDIRECT,
      "the person has not approved this redirect address",
      "consent_required",
      ({ oidc }) => !approvesRedirect(oidc.grant as GrantRecord, String(oidc.params?.redirect_uri)),
    ),
  );
  consent.checks.add(
    new interactionPolicy.Check(
      UNAPPROVED_OFFLINE_ACCESS,
      "the person has not approved access that lasts",
      "consent_required",
      (ctx) =>
        requestsOfflineAccessIn(ctx) && !approvesOfflineAccess(ctx.oidc.grant as GrantRecord),
    ),
  );
  return policy;
}

/** The part of oidc-provider's sessions that its types leave out. */
interface ProviderSessions {
  get(ctx: KoaContextWithOIDC): Promise<{
    readonly accountId?: string | undefined;
    destroy(): Promise<void>;
  }>;
  new (): Awaited<ReturnType<ProviderSessions["get"]>>;
}

/** Ends oidc-provider's session of a browser as soon as its person has signed out or somebody
 *  else has signed in, so that signing out applies everywhere at once. Otherwise it would
 *  continue for the previous person, or redirect to logout pages that this server does not have.
 *  A browser at which nobody is signed in gets a fresh session each time: otherwise each request
 *  with the cookie of an ended session would store another one. */
export function followSignIn(provider: Provider, { signedIn }: EndUsers): void {
  const sessions = provider.Session as unknown as ProviderSessions;
  const { get } = sessions;
  sessions.get = async function (this: ProviderSessions, ctx) {
    const session = await get.call(this, ctx);
    const person = await signedIn(ctx.headers.cookie);
    stateOf(ctx).accountId = person?.accountId;
    if (session.accountId !== undefined) {
      if (session.accountId === person?.accountId) return session;
      await session.destroy();
    }
    const fresh = new sessions();
    ctx.oidc.entity("Session", fresh);
    return fresh;
  };
}

/** Token claims about the owner of an agent; `undefined` when it has none. */
export function ownerClaims({ owner, identityType }: Agent) {
  return owner && { owner: owner.accountId, identity_type: identityType };
}

/** Claims of an access token beyond the standard ones: for a person, when they signed in; for an
 *  agent with an owner, the owner. */
export function extraTokenClaims(
  ctx: KoaContextWithOIDC | undefined,
  token: AccessToken | ClientCredentials,
) {
  if (token.kind === "ClientCredentials") {
    const agent = stateOf(ctx).clients.get(token.clientId ?? "")?.value.agent;
    return agent && ownerClaims(agent);
  }
  const { AuthorizationCode, RefreshToken } = ctx?.oidc.entities ?? {};
  const { authTime: auth_time } = AuthorizationCode ?? RefreshToken ?? {};
  return auth_time === undefined ? token.extra : { ...token.extra, auth_time };
}

/** A userinfo response. */
interface UserInfo {
  /** Id of the account, as in the ID token. */
  readonly sub: string;
}

/** Why a userinfo request is refused (RFC 6750 section 3.1). */
export type UserInfoRefusal = "invalid_token" | "insufficient_scope";

/**
 * Answers a request for userinfo (OpenID Connect Core 1.0 section 5.3) with the claims of the ID token.
 * Access tokens name a resource and hold its scopes alone, so it is the grant behind the token that
 * says whether the person let the client know who they are (`openid`).
 *
 * @param token An access token; API keys and tokens of agents stand for no person.
 */
export async function userInfoOf(
  { AccessToken, Grant }: Provider,
  token: string,
): Promise<UserInfo | UserInfoRefusal> {
  const found = await AccessToken.find(token);
  const grant = found?.grantId === undefined ? undefined : await Grant.find(found.grantId);
  if (found === undefined || grant === undefined) return "invalid_token";
  const isIdentified = grant.getOIDCScope().split(" ").includes("openid");
  return isIdentified && found.accountId !== undefined
    ? { sub: found.accountId }
    : "insufficient_scope";
}
