import { type ClientMetadata, errors, type KoaContextWithOIDC } from "oidc-provider";
import {
  allScopes,
  isScope,
  parseScopeNames,
  type Scope,
  scopeAdvice,
} from "../../access/scopes.ts";
import { JWT_BEARER_GRANT_TYPE } from "../assertions/oauth-urns.ts";
import { publicKeySetOf } from "./client-keys.ts";
import { hasMetadataDocument, prepareDocumentMetadata } from "./metadata-documents.ts";
import {
  checkInformationalMembers,
  rejectMetadata,
  requireAbsoluteUrl,
  requireArray,
  requirePlainText,
  type UnvalidatedClientMetadata,
} from "./metadata-members.ts";
import { isAllowedRedirect } from "./redirect-uris.ts";
import { requestStateOf } from "./request-state.ts";
import { personalScopes, withPersonalScopes } from "./resource-indicators.ts";

/**
 * Grant types that a client can register. Other requested grant types are omitted from the
 * response.
 */
const grantTypes: readonly unknown[] = [
  "authorization_code",
  "client_credentials",
  "refresh_token",
  JWT_BEARER_GRANT_TYPE,
];

/**
 * Grant types that require client authentication. Since no person is involved, the public client id
 * would otherwise suffice to get a token.
 */
export const confidentialGrantTypes: readonly string[] = [
  "client_credentials",
  JWT_BEARER_GRANT_TYPE,
];

/** Signing algorithms of ID tokens; the server's key set has a key for each. */
export const idTokenAlgorithms = ["ES256", "RS256"] as const;

/**
 * Metadata members that are dropped, because they would make this server send requests to a URL of
 * the client's choice.
 */
const droppedMembers = {
  sector_identifier_uri: undefined,
  initiate_login_uri: undefined,
  backchannel_logout_uri: undefined,
};

/**
 * The ID token signing algorithm that a client requests; `undefined`, for the default, if this
 * server has no key for the algorithm.
 */
const idTokenAlgorithm = (requested: unknown) =>
  idTokenAlgorithms.find((known) => known === requested);

function redirectUrisOf(metadata: UnvalidatedClientMetadata): readonly URL[] {
  const redirects = requireArray("redirect_uris", metadata.redirect_uris).map((uri) =>
    requireAbsoluteUrl("redirect_uris", uri),
  );
  if (!redirects.every(isAllowedRedirect)) {
    rejectMetadata(
      "redirect_uris must use https, http to a loopback address, or a private-use scheme with a dot such as com.example.app, or cursor",
    );
  }
  return redirects;
}

/**
 * `native` if a redirect URI is on the user's device: then the authorization server accepts any
 * loopback port (RFC 8252 section 7.3).
 */
function applicationType(redirects: readonly URL[]): "native" | "web" {
  return redirects.some((uri) => uri.protocol !== "https:") ? "native" : "web";
}

/**
 * The grant types to register. Refresh tokens are issued only with a person's consent (RFC 6749
 * section 4.4.3).
 */
function registeredGrantTypes(metadata: UnvalidatedClientMetadata): readonly unknown[] {
  const requested = requireArray("grant_types", metadata.grant_types);
  const usesCode = requested.includes("authorization_code");
  const granted = grantTypes.filter(
    (type) => requested.includes(type) && (usesCode || type !== "refresh_token"),
  );
  if (granted.length === 0) {
    const alone = grantTypes.filter((type) => type !== "refresh_token").join(", ");
    rejectMetadata(
      `grant_types must contain one of ${alone}; refresh_token requires authorization_code`,
    );
  }

  const isPublic = metadata.token_endpoint_auth_method === "none";
  if (isPublic && confidentialGrantTypes.some((type) => granted.includes(type))) {
    rejectMetadata(
      `${confidentialGrantTypes.join(" and ")} require a token_endpoint_auth_method other than none`,
    );
  }
  return granted;
}

/**
 * The scopes that a client may register: all scopes if a person or their identity provider
 * authorizes the client, since that person or provider decides on the scopes; otherwise `own`.
 */
function registrableScopes(types: readonly unknown[], own: readonly Scope[]): readonly string[] {
  if (types.includes("authorization_code")) return [...allScopes, ...personalScopes];
  return types.includes(JWT_BEARER_GRANT_TYPE) ? allScopes : own;
}

/**
 * The `scope` member to register.
 * @returns `undefined` for no scope, because the library rejects an empty string.
 */
function registeredScope(requested: unknown, ceiling: readonly string[]): string | undefined {
  if (requested !== undefined && typeof requested !== "string")
    rejectMetadata("scope must be a string");

  const names = parseScopeNames(requested ?? "");
  const granted = names.length === 0 ? ceiling : names.filter((name) => ceiling.includes(name));
  const isKnown = names.length === 0 || names.some(isScope);
  // If unclaimed agents have no scopes, a request for known scopes is accepted, and the client has
  // no scope until the claim.
  if (granted.length === 0 && !(ceiling.length === 0 && isKnown)) {
    const choice = ceiling.length === 0 ? "no scope before a claim" : ceiling.join(" ");
    throw new errors.InvalidScope(
      `none of the requested scopes can be granted: this registration may have ${choice}; ${scopeAdvice}`,
      names.join(" "),
    );
  }
  return granted.length === 0 ? undefined : granted.join(" ");
}

/**
 * Normalizes the metadata of a registration or update (RFC 7591 section 2, RFC 7592 section 2.2) to
 * what this server supports, and rejects unsafe values. As in RFC 7591, a client without
 * `grant_types` is an authorization code client, which requires `redirect_uris`.
 *
 * The response type `token`, and the grant type `refresh_token` without `authorization_code`, are
 * accepted but omitted from the response, since this server supports neither.
 *
 * A client that requests no scope gets every scope it may have. If it may have none before a claim,
 * its scope is empty until then.
 *
 * @param ceiling Maximum scopes of the client's own tokens; never taken from the metadata.
 * @returns The members to replace; `undefined` removes a member.
 * @throws `invalid_client_metadata`, `invalid_redirect_uri` or `invalid_scope`, each with a
 * description for the caller.
 */
export function normalizeRegistration(
  metadata: UnvalidatedClientMetadata,
  ceiling: readonly Scope[],
): UnvalidatedClientMetadata {
  const types = registeredGrantTypes(metadata);
  const usesCode = types.includes("authorization_code");
  const redirects = redirectUrisOf(metadata);
  if (usesCode && redirects.length === 0) {
    rejectMetadata("redirect_uris are required, unless an agent requests client_credentials only");
  }
  checkInformationalMembers(metadata);

  return {
    ...droppedMembers,
    grant_types: types,
    response_types: usesCode ? ["code"] : [],
    application_type: applicationType(redirects),
    scope: registeredScope(metadata.scope, registrableScopes(types, ceiling)),
    jwks: publicKeySetOf(metadata),
    id_token_signed_response_alg: idTokenAlgorithm(metadata.id_token_signed_response_alg),
    client_name: requirePlainText("client_name", metadata.client_name),
    software_id: requirePlainText("software_id", metadata.software_id),
    software_version: requirePlainText("software_version", metadata.software_version),
  };
}

/** Metadata members that oidc-provider does not know. */
const extraProperties = ["software_id", "software_version"];

/**
 * Creates the hook that normalizes client metadata before oidc-provider validates it: in every
 * registration and update, and at each use of a metadata document. Stored clients are already
 * normalized.
 *
 * oidc-provider calls the hook once for each of `properties`, and passes a context only if the
 * client is about to be stored.
 */
export function createClientMetadataHook(anonymousScopes: readonly Scope[]) {
  return {
    properties: extraProperties,
    validator(
      ctx: KoaContextWithOIDC | undefined,
      member: string,
      _value: unknown,
      metadata: ClientMetadata,
    ): void {
      if (member !== extraProperties[0]) return;
      if (ctx !== undefined) {
        const ceiling = requestStateOf(ctx).registration?.ceiling ?? anonymousScopes;
        Object.assign(metadata, normalizeRegistration({ ...metadata }, ceiling));
      } else if (hasMetadataDocument(metadata.client_id)) {
        const normal = normalizeRegistration(prepareDocumentMetadata({ ...metadata }), []);
        Object.assign(metadata, normal, { scope: withPersonalScopes(String(normal.scope)) });
      }
    },
  };
}
