import type { Client, Provider } from "oidc-provider";
import type { ApiKeyService } from "../../principals/keys/api-keys.ts";

/**
 * Revokes an access token, a refresh token with everything issued under its grant, or an API key.
 * The request needs no client authentication, since anyone who has a credential may revoke it. An
 * unknown credential is not an error (RFC 7009 section 2.2).
 */
export async function revokePresentedToken(
  { provider, keys }: { readonly provider: Provider; readonly keys: ApiKeyService },
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
 * Allows an authenticated client to revoke only its own tokens. For another client's token, the
 * response is the same as for an unknown token (RFC 7009 section 2.2), so that a client that finds
 * a token does not learn whether it is valid.
 */
export async function mayRevokeToken(
  _ctx: unknown,
  client: Client,
  token: { readonly clientId?: string | undefined },
): Promise<boolean> {
  return token.clientId === client.clientId;
}
