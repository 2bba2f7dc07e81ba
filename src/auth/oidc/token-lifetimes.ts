/** Lifetime of an access token, in seconds. */
export const ACCESS_TOKEN_LIFETIME_SECONDS = 3600;

const DAY_SECONDS = 86_400;

/** Lifetimes of tokens, codes and grants in seconds, by oidc-provider model. */
export const tokenLifetimeSeconds = {
  AccessToken: ACCESS_TOKEN_LIFETIME_SECONDS,
  AuthorizationCode: 60,
  ClientCredentials: ACCESS_TOKEN_LIFETIME_SECONDS,
  Grant: 30 * DAY_SECONDS,
  IdToken: ACCESS_TOKEN_LIFETIME_SECONDS,
  /** An authorization request that is waiting for a person. */
  Interaction: 600,
  RefreshToken: 30 * DAY_SECONDS,
  Session: 14 * DAY_SECONDS,
};
