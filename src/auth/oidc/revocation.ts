import type { Client, Provider } from "oidc-provider";
import type { ApiKeys } from "../keys/api-keys.ts";

/** Where a credential can be ended. */
interface Revocable {
  readonly provider: Provider;
  readonly keys: ApiKeys;
}

/** Revokes an access token, a refresh token with everything issued under its grant, or an API
 *  key, by possession: a request without client credentials is accepted, since the holder of a
 *  credential can use it and so may end it. An unknown credential is no error (RFC 7009 section
 *  2.2). */
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

/** Lets an authenticated client revoke its own tokens only. The answer for another client's
 *  token is that for an unknown one (RFC 7009 section 2.2), so that a finder does not learn
 *  whether it is valid. */
export async function allowOwnTokens(
  _ctx: unknown,
  client: Client,
  token: { readonly clientId?: string | undefined },
): Promise<boolean> {
  return token.clientId === client.clientId;
}
