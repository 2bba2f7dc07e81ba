import { anonymousScopeCeiling, type Scope, scopeDescriptions } from "../access/scopes.ts";
import type { Site } from "../answers/site.ts";
import { paths } from "../lib/paths.ts";

/** The OpenAPI security schemes of the HTTP interface. */
export function securitySchemes({ baseUrl }: Pick<Site, "baseUrl">) {
  const tokenUrl = baseUrl + paths.token;
  return {
    oauth2: {
      type: "oauth2",
      description: `OAuth 2.0. Agents register at ${baseUrl}${paths.register} and use client credentials; ${scopeNote} People sign in by authorization code with PKCE (S256).`,
      flows: {
        authorizationCode: {
          authorizationUrl: baseUrl + paths.authorize,
          tokenUrl,
          refreshUrl: tokenUrl,
          scopes: scopeDescriptions,
        },
        clientCredentials: {
          tokenUrl,
          scopes: Object.fromEntries(
            anonymousScopeCeiling.map((scope) => [scope, scopeDescriptions[scope]]),
          ),
        },
      },
    },
    openIdConnect: {
      type: "openIdConnect",
      description: "People sign in by OpenID Connect: the scope `openid` adds an ID token.",
      openIdConnectUrl: baseUrl + paths.openidConfiguration,
    },
    bearer: {
      type: "http",
      scheme: "bearer",
      description: "A short-lived access token, or an API key.",
    },
    apiKey: {
      type: "apiKey",
      in: "header",
      name: "x-api-key",
      description: "A long-lived key, created on the account page or issued by the operator.",
    },
    registrationToken: {
      type: "http",
      scheme: "bearer",
      description: "The `registration_access_token` of the client's own registration (RFC 7592).",
    },
  } as const;
}

const scopeNote = "`alerts:write` needs an agent that a person has claimed.";

/** Name of a security scheme. */
type SchemeName = keyof ReturnType<typeof securitySchemes>;

/** A security requirement: scopes by the name of the security scheme. */
export type SecurityRequirement = Readonly<Partial<Record<SchemeName, readonly string[]>>>;

/** A sentence with the required scopes, to append to a description. */
export const scopeSentence = (needed: readonly Scope[]): string =>
  `${needed.length === 1 ? "Scope" : "Scopes"}: ${needed.map((scope) => `\`${scope}\``).join(", ")}.`;

/** Security requirements that a credential of any kind meets if it has the given scopes. */
export const anyCredentialWith = (...needed: readonly Scope[]): readonly SecurityRequirement[] => [
  { oauth2: needed },
  { openIdConnect: needed },
  { bearer: [] },
  { apiKey: [] },
];
