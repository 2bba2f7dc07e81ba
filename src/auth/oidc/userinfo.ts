import type { Provider } from "oidc-provider";

/** What is known of a person at the userinfo endpoint. */
interface UserInfo {
  /** Id of the account, as in the ID token. */
  readonly sub: string;
}

/** Why there is none (RFC 6750 section 3.1). */
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
