import type { Client, Provider } from "oidc-provider";
import type { ApiKeys } from "../keys/api-keys.ts";

/** Where a credential can be ended. */
interface Revocable {
  readonly provider: Provider;
  readonly keys: Pick<ApiKeys, "find" | "revoke">;
}

/**
 * Revokes an access token, a refresh token with all that came of the same grant, or an API key, for
 * whoever holds it. Spec 4.8 shows a request without client credentials: whoever can present a
 * credential could use it, so may also end it. An unknown one is no error (RFC 7009 section 2.2).
 */
export async function revokeByPossession(
  { provider, keys }: Revocable,
  presented: string,
): Promise<void> {
  const { AccessToken, ClientCredentials, RefreshToken } = provider;
  const key = await keys.find(presented);
  if (key !== undefined) return void (await keys.revoke(key.id, key.id));
  const found = await Promise.all([
    ClientCredentials.find(presented),
    AccessToken.find(presented),
    RefreshToken.find(presented),
  ]);
  await Promise.all(found.map((token) => token?.destroy()));
}

/**
 * Lets an authenticated client revoke its own tokens. Another client's stays as it is and is answered
 * as an unknown one (RFC 7009 section 2.2): whoever found one must not learn whether it is good.
 */
export async function allowOwnTokens(
  _ctx: unknown,
  client: Client,
  token: { readonly clientId?: string | undefined },
): Promise<boolean> {
  return token.clientId === client.clientId;
}
