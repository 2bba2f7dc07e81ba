import { type Client, errors, type Provider } from "oidc-provider";

/**
 * Revokes an access token for whoever holds it. Spec 4.8 shows a request without client
 * credentials: whoever can present the token could use it, so may also end it. An unknown token
 * is no error (RFC 7009 section 2.2).
 */
export async function revokeByPossession(provider: Provider, token: string): Promise<void> {
  const found = await provider.ClientCredentials.find(token);
  await found?.destroy();
}

/**
 * Lets an authenticated client revoke its own tokens; another client's token is an error the
 * client is told about (RFC 7009 section 2.1, code from RFC 6749 section 5.2).
 */
export async function allowOwnTokens(
  _ctx: unknown,
  client: Client,
  token: { readonly clientId?: string | undefined },
): Promise<boolean> {
  if (token.clientId === client.clientId) return true;
  throw new errors.CustomOIDCProviderError(
    "invalid_grant",
    "the token was issued to another client",
  );
}
