import { type Client, errors, type KoaContextWithOIDC, type ResourceServer } from "oidc-provider";
import { isAudienceAllowed, resolveResource, resourcesOf } from "../../access/audience.ts";
import {
  isScope,
  parseScopeNames,
  type Scope,
  scopeAdvice,
  scopeDescriptions,
} from "../../access/scopes.ts";
import type { ClientRecord } from "../../principals/agents/agent.ts";
import { requestStateOf } from "./request-state.ts";
import { ACCESS_TOKEN_LIFETIME_SECONDS } from "./token-lifetimes.ts";

/**
 * OpenID Connect scopes that a person always grants with a consent: the person's identity, and
 * offline access.
 */
export const personalScopes: readonly string[] = ["openid", "offline_access"];

/** Adds the scopes of OpenID Connect to a scope parameter. */
export function withPersonalScopes(scope: string): string {
  return [...new Set([...parseScopeNames(scope), ...personalScopes])].join(" ");
}

/** Policy for the audience and scope of tokens. */
export interface ResourcePolicy {
  /** The issuer, and the resource that covers the whole service; without a trailing slash. */
  readonly baseUrl: string;
  /** Maximum scopes of the tokens that a client without an owner gets for itself. */
  readonly anonymousScopes: readonly Scope[];
}

/**
 * Resolves a resource indicator.
 * @throws `invalid_target` when this server has no such resource.
 */
function resolveAudience(resource: string, baseUrl: string): string {
  const audience = resolveResource(resource, baseUrl);
  if (audience === undefined) {
    throw new errors.InvalidTarget(
      `the resources of this server are ${resourcesOf(baseUrl).join(" and ")}`,
    );
  }
  return audience;
}

/**
 * The maximum scopes of a client's own tokens: the registered scopes that are allowed for unclaimed
 * agents or, for a client with an owner, allowed by the owner.
 */
export function clientScopeCeiling(
  { metadata, agent }: ClientRecord,
  anonymousScopes: readonly Scope[],
): readonly Scope[] {
  const most = agent.owner?.scopes ?? anonymousScopes;
  return parseScopeNames(metadata.scope ?? "")
    .filter(isScope)
    .filter((scope) => most.includes(scope));
}

function rejectScope(reach: readonly string[], refused: readonly string[]): never {
  const choice = reach.length === 0 ? "no scope" : reach.join(" ");
  const description = `this client may request ${choice}; ${scopeAdvice}`;
  throw new errors.InvalidScope(description, refused.join(" "));
}

/** The scope of a client_credentials request: the requested scopes, or by default everything the
 *  client may have (RFC 6749 section 3.3). oidc-provider would drop an unknown scope and issue a
 *  token with fewer scopes than requested, so any scope that is not allowed is rejected. */
function clientCredentialsScope(
  requested: readonly string[],
  ceiling: readonly string[],
): readonly string[] {
  const refused = requested.filter((name) => !ceiling.includes(name));
  if (refused.length > 0 || ceiling.length === 0) rejectScope(ceiling, refused);
  return requested.length === 0 ? ceiling : requested;
}

/**
 * The scope of an authorization request: the requested scopes, or by default everything the client
 * registered (RFC 6749 section 3.3). Unknown scopes are dropped as long as another scope remains,
 * since clients often request scopes that other servers have. oidc-provider has already rejected
 * known scopes that the client did not register.
 */
function authorizationScope(
  requested: readonly string[],
  registered: readonly Scope[],
): readonly string[] {
  const personal = requested.filter((name) => personalScopes.includes(name));
  const known = requested.filter(isScope);
  if (known.length > 0 || personal.includes("openid")) return [...known, ...personal];
  if (requested.length > personal.length) rejectScope(registered, requested);
  return [...registered, ...personal];
}

function replaceScope(ctx: KoaContextWithOIDC, client: Client, policy: ResourcePolicy): void {
  const { params, route } = ctx.oidc;
  if (params === undefined) return;
  const registered = parseScopeNames(client.scope ?? "").filter(isScope);
  const requested = parseScopeNames(String(params.scope ?? ""));

  if (isClientCredentials(ctx)) {
    const record = requestStateOf(ctx).clients.get(client.clientId)?.value;
    const ceiling = record === undefined ? [] : clientScopeCeiling(record, policy.anonymousScopes);
    params.scope = clientCredentialsScope(requested, ceiling).join(" ");
  } else if (route !== "token") {
    params.scope = authorizationScope(requested, registered).join(" ");
  }
}

const isClientCredentials = ({ oidc: { params } }: KoaContextWithOIDC): boolean =>
  params?.grant_type === "client_credentials";

/** The widest audience that a client's own tokens may have. */
function maxResource(
  ctx: KoaContextWithOIDC,
  { clientId }: Client,
  { baseUrl }: ResourcePolicy,
): string {
  return requestStateOf(ctx).clients.get(clientId)?.value.agent.owner?.resource ?? baseUrl;
}

/**
 * The oidc-provider setting for resource indicators (RFC 8707). There are two resources: the whole
 * service and its MCP endpoint. The default is the whole service or, for a client's own tokens, the
 * widest audience that they may have.
 */
export function resourceIndicatorFeature(policy: ResourcePolicy) {
  return {
    enabled: true,
    defaultResource: (ctx: KoaContextWithOIDC, client: Client) =>
      isClientCredentials(ctx) ? maxResource(ctx, client, policy) : policy.baseUrl,
    getResourceServerInfo(
      ctx: KoaContextWithOIDC,
      resource: string,
      client: Client,
    ): ResourceServer {
      const audience = resolveAudience(resource, policy.baseUrl);
      if (
        isClientCredentials(ctx) &&
        !isAudienceAllowed(maxResource(ctx, client, policy), audience)
      ) {
        throw new errors.InvalidTarget();
      }
      replaceScope(ctx, client, policy);
      return {
        audience,
        scope: Object.keys(scopeDescriptions).join(" "),
        accessTokenTTL: ACCESS_TOKEN_LIFETIME_SECONDS,
        accessTokenFormat: "opaque",
      };
    },
  };
}
