import { type ClientMetadata, errors, type KoaContextWithOIDC } from "oidc-provider";
import { JWT_BEARER } from "../assertions/oauth-urns.ts";
import { allScopes, isScope, type Scope, scopeAdvice, scopeNames } from "../scopes.ts";
import { publicKeys } from "./client-keys.ts";
import { documentMetadata, hasMetadataDocument } from "./metadata-documents.ts";
import {
  address,
  checkInformation,
  list,
  type Metadata,
  plainText,
  refuse,
} from "./metadata-members.ts";
import { isAllowedRedirect } from "./redirect-uris.ts";
import { stateOf } from "./request-state.ts";
import { personalScopes, withPersonalScopes } from "./resource-indicators.ts";

/** Grant types that a client can register; others are left out of the response. */
const grantTypes: readonly unknown[] = [
  "authorization_code",
  "client_credentials",
  "refresh_token",
  JWT_BEARER,
];

/** Grants that need client authentication: without a person at a browser, the client id alone
 *  would do. */
export const confidentialGrants: readonly string[] = ["client_credentials", JWT_BEARER];

/** How ID tokens are signed: with a key of each algorithm in the key set. */
export const idTokenAlgorithms = ["ES256", "RS256"] as const;

/** Members that would make this server fetch or call an address of the client's choice. */
const droppedMembers = {
  sector_identifier_uri: undefined,
  initiate_login_uri: undefined,
  backchannel_logout_uri: undefined,
};

/** The algorithm that a client asks for; one that this server has no key for is left out, so that the
 *  client is answered with the default. */
const idTokenAlgorithm = (asked: unknown) => idTokenAlgorithms.find((known) => known === asked);

function redirectsOf(metadata: Metadata): readonly URL[] {
  const redirects = list("redirect_uris", metadata.redirect_uris).map((uri) =>
    address("redirect_uris", uri),
  );
  if (!redirects.every(isAllowedRedirect)) {
    refuse(
      "redirect_uris must use https, http to a loopback address, or a private-use scheme with a dot such as com.example.app, or cursor",
    );
  }
  return redirects;
}

/** Native when one redirect stays on the user's machine: then any loopback port is accepted
 *  (RFC 8252 section 7.3). */
function applicationType(redirects: readonly URL[]): "native" | "web" {
  return redirects.some((uri) => uri.protocol !== "https:") ? "native" : "web";
}

/** RFC 6749 section 4.4.3: there is a refresh token only for what a person consented to. */
function grantedTypes(metadata: Metadata): readonly unknown[] {
  const asked = list("grant_types", metadata.grant_types);
  const usesCode = asked.includes("authorization_code");
  const granted = grantTypes.filter(
    (type) => asked.includes(type) && (usesCode || type !== "refresh_token"),
  );
  if (granted.length === 0) {
    const alone = grantTypes.filter((type) => type !== "refresh_token").join(", ");
    refuse(
      `grant_types must contain one of ${alone}; refresh_token comes beside authorization_code`,
    );
  }

  const isPublic = metadata.token_endpoint_auth_method === "none";
  if (isPublic && confidentialGrants.some((type) => granted.includes(type))) {
    refuse(`${confidentialGrants.join(" and ")} need a token_endpoint_auth_method other than none`);
  }
  return granted;
}

/** The scopes that a client may register. A client that asks a person, or their identity
 *  provider, may register all: they decide. */
function registrableScopes(types: readonly unknown[], own: readonly Scope[]): readonly string[] {
  if (types.includes("authorization_code")) return [...allScopes, ...personalScopes];
  return types.includes(JWT_BEARER) ? allScopes : own;
}

/** @returns `undefined` for nothing: the library takes no empty text. */
function grantedScope(asked: unknown, ceiling: readonly string[]): string | undefined {
  if (asked !== undefined && typeof asked !== "string") refuse("scope must be a string");

  const names = scopeNames(asked ?? "");
  const granted = names.length === 0 ? ceiling : names.filter((name) => ceiling.includes(name));
  const isKnown = names.length === 0 || names.some(isScope);
  // Where nothing is open to agents by themselves, all that it asks for waits for the claim.
  if (granted.length === 0 && !(ceiling.length === 0 && isKnown)) {
    const choice = ceiling.length === 0 ? "no scope before a claim" : ceiling.join(" ");
    throw new errors.InvalidScope(
      `nothing asked for can be granted: this registration may have ${choice}; ${scopeAdvice}`,
      names.join(" "),
    );
  }
  return granted.length === 0 ? undefined : granted.join(" ");
}

/**
 * Brings a registration or update (RFC 7591 section 2, RFC 7592 section 2.2) to what this server
 * offers, and refuses what is unsafe. The interface leaves the required fields open: a client without
 * `grant_types` is an authorization code client, as in RFC 7591, and then needs `redirect_uris`.
 *
 * The response type `token`, and the grant `refresh_token` without `authorization_code`, are
 * accepted in the request and left out of the answer, since this server offers neither.
 *
 * A client that asks for no scope gets all it may have; where that is nothing before a claim, its scope
 * is empty until then.
 *
 * @param ceiling What a client that asks nobody may have; never taken from the metadata.
 * @returns The members to replace; `undefined` stands for removal.
 * @throws `invalid_client_metadata`, `invalid_redirect_uri` or `invalid_scope`, each with a
 *   description for the caller.
 */
export function normalizeRegistration(metadata: Metadata, ceiling: readonly Scope[]): Metadata {
  const types = grantedTypes(metadata);
  const usesCode = types.includes("authorization_code");
  const redirects = redirectsOf(metadata);
  if (usesCode && redirects.length === 0) {
    refuse("redirect_uris are needed, unless an agent asks for client_credentials alone");
  }
  checkInformation(metadata);

  return {
    ...droppedMembers,
    grant_types: types,
    response_types: usesCode ? ["code"] : [],
    application_type: applicationType(redirects),
    scope: grantedScope(metadata.scope, registrableScopes(types, ceiling)),
    jwks: publicKeys(metadata),
    id_token_signed_response_alg: idTokenAlgorithm(metadata.id_token_signed_response_alg),
    client_name: plainText("client_name", metadata.client_name),
    software_id: plainText("software_id", metadata.software_id),
    software_version: plainText("software_version", metadata.software_version),
  };
}

/** Members beyond those of the library. */
const properties = ["software_id", "software_version"];

/**
 * Normalizes client metadata before oidc-provider validates them: in every registration and update,
 * and in a metadata document whenever it is used. Stored clients were normalized before.
 *
 * oidc-provider calls the hook once for each of `properties`, with a context only where the client
 * is going to be stored.
 */
export function clientMetadata(anonymousScopes: readonly Scope[]) {
  return {
    properties,
    validator(
      ctx: KoaContextWithOIDC | undefined,
      member: string,
      _value: unknown,
      metadata: ClientMetadata,
    ): void {
      if (member !== properties[0]) return;
      if (ctx !== undefined) {
        const ceiling = stateOf(ctx).registration?.ceiling ?? anonymousScopes;
        Object.assign(metadata, normalizeRegistration({ ...metadata }, ceiling));
      } else if (hasMetadataDocument(metadata.client_id)) {
        const normal = normalizeRegistration(documentMetadata({ ...metadata }), []);
        Object.assign(metadata, normal, { scope: withPersonalScopes(String(normal.scope)) });
      }
    },
  };
}
