import { errors } from "oidc-provider";
import { isLoopbackHost } from "../loopback.ts";
import { isScope, type Scope, scopeAdvice, scopeNames, scopes } from "../scopes.ts";
import {
  address,
  checkInformation,
  list,
  type Metadata,
  plainText,
  refuse,
} from "./client-metadata.ts";

/** Grant types a client can register; others that are asked for are left out of the answer. */
const grantTypes: readonly unknown[] = ["authorization_code", "client_credentials"];

/** Members that would make this server fetch or call an address of the client's choice, or that
 *  name an algorithm it has no key for. */
const droppedMembers = {
  sector_identifier_uri: undefined,
  initiate_login_uri: undefined,
  backchannel_logout_uri: undefined,
  id_token_signed_response_alg: undefined,
};

/** Plain http to another machine would send codes in the clear. */
function redirectsOf(metadata: Metadata): readonly URL[] {
  const redirects = list("redirect_uris", metadata.redirect_uris).map((uri) =>
    address("redirect_uris", uri),
  );
  if (redirects.some((uri) => uri.protocol === "http:" && !isLoopbackHost(uri.hostname))) {
    refuse("redirect_uris must use https, a loopback address or a private scheme");
  }
  return redirects;
}

/** Native when one redirect stays on the user's machine: then any loopback port is accepted
 *  (RFC 8252 section 7.3). */
function applicationType(redirects: readonly URL[]): "native" | "web" {
  return redirects.some((uri) => uri.protocol !== "https:") ? "native" : "web";
}

function grantedTypes(metadata: Metadata): readonly unknown[] {
  const granted = list("grant_types", metadata.grant_types).filter((type) =>
    grantTypes.includes(type),
  );
  if (granted.length === 0) refuse(`grant_types must contain one of ${grantTypes.join(", ")}`);

  const isPublic = metadata.token_endpoint_auth_method === "none";
  if (isPublic && granted.includes("client_credentials")) {
    refuse("client_credentials needs a token_endpoint_auth_method other than none");
  }
  return granted;
}

function grantedScope(
  asked: unknown,
  ceiling: readonly Scope[],
  whenNone: readonly Scope[],
): string {
  if (asked !== undefined && typeof asked !== "string") refuse("scope must be a string");

  const names = scopeNames(asked ?? "");
  const wanted = names.length === 0 ? whenNone : names.filter(isScope);
  const granted = wanted.filter((scope) => ceiling.includes(scope));
  if (granted.length === 0) {
    const choice = ceiling.length === 0 ? "no scope" : ceiling.join(" ");
    throw new errors.InvalidScope(
      `nothing asked for can be granted: this registration may have ${choice}; ${scopeAdvice}`,
      names.join(" "),
    );
  }
  return granted.join(" ");
}

/**
 * Brings a registration or update (RFC 7591 section 2, RFC 7592 section 2.2) to what this server
 * offers, and refuses what is unsafe. Spec 2.4 leaves the required fields open: a client without
 * `grant_types` is an authorization code client, as in RFC 7591, and then needs `redirect_uris`.
 *
 * A client that only has client_credentials gets at most `anonymousScopes`; one that asks for no
 * scope gets those too. The response type `token` and the grant `refresh_token` are accepted in
 * the request and left out of the answer, since this server offers neither.
 *
 * @returns The members to replace; `undefined` stands for removal.
 * @throws `invalid_client_metadata`, `invalid_redirect_uri` or `invalid_scope`, each with a
 *   description for the caller.
 */
export function normaliseRegistration(
  metadata: Metadata,
  anonymousScopes: readonly Scope[],
): Metadata {
  const types = grantedTypes(metadata);
  const usesCode = types.includes("authorization_code");
  const ceiling = usesCode ? Object.keys(scopes).filter(isScope) : anonymousScopes;
  const redirects = redirectsOf(metadata);
  if (usesCode && redirects.length === 0) {
    refuse("redirect_uris are needed, unless grant_types is client_credentials alone");
  }
  checkInformation(metadata);

  return {
    ...droppedMembers,
    grant_types: types,
    response_types: usesCode ? ["code"] : [],
    application_type: applicationType(redirects),
    scope: grantedScope(metadata.scope, ceiling, anonymousScopes),
    client_name: plainText("client_name", metadata.client_name),
    software_id: plainText("software_id", metadata.software_id),
    software_version: plainText("software_version", metadata.software_version),
  };
}
