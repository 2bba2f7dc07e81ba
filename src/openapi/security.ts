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
type SecurityRequirement = Readonly<Partial<Record<SchemeName, readonly string[]>>>;

/** Who may call an operation. */
export type Access = "public" | ScopedAccess | OwnCredentials;

/** Any credential, an access token or an API key, that has all of the scopes. */
interface ScopedAccess {
  readonly scopes: readonly Scope[];
  /** Whether the operation is public in the sandbox, whose data are simulated. */
  readonly isPublicInSandbox?: true;
}

/** Credentials that only the handler of the operation knows how to check. */
interface OwnCredentials {
  /** Alternative requirements. */
  readonly anyOf: readonly SecurityRequirement[];
}

/** The alternative security requirements of an operation; empty if it is public. */
export function securityOf(access: Access): readonly SecurityRequirement[] {
  if (access === "public") return [];
  if ("anyOf" in access) return access.anyOf;
  const { scopes } = access;
  return [{ oauth2: scopes }, { openIdConnect: scopes }, { bearer: [] }, { apiKey: [] }];
}

/** Adds the required scopes to the description of an operation. */
export function withScopes(description: string, access: Access): string {
  if (access === "public" || "anyOf" in access || access.scopes.length === 0) return description;
  const { scopes, isPublicInSandbox } = access;
  const names = scopes.map((scope) => `\`${scope}\``).join(", ");
  const sentences = [
    description,
    `${scopes.length === 1 ? "Scope" : "Scopes"}: ${names}.`,
    ...(isPublicInSandbox ? ["The sandbox asks for no credential."] : []),
  ];
  return sentences.join(" ");
}
