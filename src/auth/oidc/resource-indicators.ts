import { type Client, errors, type KoaContextWithOIDC, type ResourceServer } from "oidc-provider";
import type { ClientRecord } from "../agents/agent.ts";
import { isAudienceAllowed, resolveResource } from "../audience.ts";
import { isScope, type Scope, scopeAdvice, scopeNames, scopes } from "../scopes.ts";
import { stateOf } from "./request-state.ts";
import { ACCESS_TOKEN_SECONDS } from "./token-lifetimes.ts";

/** Scopes of OpenID Connect that are part of every consent: the person's identity, and offline
 *  access. */
export const personalScopes: readonly string[] = ["openid", "offline_access"];

/** A scope with those of OpenID Connect added. */
export function withPersonalScopes(scope: string): string {
  return [...new Set([...scopeNames(scope), ...personalScopes])].join(" ");
}

/** Limits of the tokens of clients that nobody owns. */
export interface ResourcePolicy {
  /** The issuer, and the resource that covers the whole service; no trailing slash. */
  readonly baseUrl: string;
  /** What a client_credentials token of such a client may hold at most. */
  readonly anonymousScopes: readonly Scope[];
}

/** @throws `invalid_target` when there is no such resource. */
function audienceOf(resource: string, baseUrl: string): string {
  const audience = resolveResource(resource, baseUrl);
  if (audience === undefined) throw new errors.InvalidTarget();
  return audience;
}

/** The scopes of a client's own tokens: of those it registered, the ones open to unclaimed
 *  agents or, once it has an owner, the ones that the owner allowed. */
export function clientScopeCeiling(
  { metadata, agent }: ClientRecord,
  anonymousScopes: readonly Scope[],
): readonly Scope[] {
  const most = agent.owner?.scopes ?? anonymousScopes;
  return scopeNames(metadata.scope ?? "")
    .filter(isScope)
    .filter((scope) => most.includes(scope));
}

function refuseScope(reach: readonly string[], refused: readonly string[]): never {
  const choice = reach.length === 0 ? "no scope" : reach.join(" ");
  const description = `this client may ask for ${choice}; ${scopeAdvice}`;
  throw new errors.InvalidScope(description, refused.join(" "));
}

/**
 * The scope of a client_credentials request: what it asks for, or everything it may have when it
 * asks for nothing (RFC 6749 section 3.3). oidc-provider would leave out a scope it does not know
 * and issue a token that can do less than asked, so any scope out of reach is refused.
 */
function ownScope(asked: readonly string[], ceiling: readonly string[]): readonly string[] {
  const refused = asked.filter((name) => !ceiling.includes(name));
  if (refused.length > 0 || ceiling.length === 0) refuseScope(ceiling, refused);
  return asked.length === 0 ? ceiling : asked;
}

/**
 * The scope of an authorization request: what it asks for, or everything that the client registered
 * when it asks for nothing to be done (RFC 6749 section 3.3). Names that this server does not know
 * are left out as long as there is another, since clients ask for what they know from elsewhere; one
 * that the client did not register was refused by oidc-provider before.
 */
function askedScope(asked: readonly string[], registered: readonly Scope[]): readonly string[] {
  const personal = asked.filter((name) => personalScopes.includes(name));
  const known = asked.filter(isScope);
  if (known.length > 0 || personal.includes("openid")) return [...known, ...personal];
  if (asked.length > personal.length) refuseScope(registered, asked);
  return [...registered, ...personal];
}

function settleScope(ctx: KoaContextWithOIDC, client: Client, policy: ResourcePolicy): void {
  const { params, route } = ctx.oidc;
  if (params === undefined) return;
  const registered = scopeNames(client.scope ?? "").filter(isScope);
  const asked = scopeNames(String(params.scope ?? ""));

  if (isOwn(ctx)) {
    const record = stateOf(ctx).clients.get(client.clientId)?.value;
    const ceiling = record === undefined ? [] : clientScopeCeiling(record, policy.anonymousScopes);
    params.scope = ownScope(asked, ceiling).join(" ");
  } else if (route !== "token") {
    params.scope = askedScope(asked, registered).join(" ");
  }
}

const isOwn = ({ oidc: { params } }: KoaContextWithOIDC): boolean =>
  params?.grant_type === "client_credentials";

/** The resource that a client's own tokens are good for at most. */
function ownResource(
  ctx: KoaContextWithOIDC,
  { clientId }: Client,
  { baseUrl }: ResourcePolicy,
): string {
  return stateOf(ctx).clients.get(clientId)?.value.agent.owner?.resource ?? baseUrl;
}

/** The resource indicators feature (RFC 8707): two resources, the whole service by default. */
export function resourceIndicators(policy: ResourcePolicy) {
  return {
    enabled: true,
    defaultResource: (ctx: KoaContextWithOIDC, client: Client) =>
      isOwn(ctx) ? ownResource(ctx, client, policy) : policy.baseUrl,
    /** Without `resource`, the token endpoint uses the resource that was consented to. */
    useGrantedResource: () => true,
    getResourceServerInfo(
      ctx: KoaContextWithOIDC,
      resource: string,
      client: Client,
    ): ResourceServer {
      const audience = audienceOf(resource, policy.baseUrl);
      if (isOwn(ctx) && !isAudienceAllowed(ownResource(ctx, client, policy), audience)) {
        throw new errors.InvalidTarget();
      }
      settleScope(ctx, client, policy);
      return {
        audience,
        scope: Object.keys(scopes).join(" "),
        accessTokenTTL: ACCESS_TOKEN_SECONDS,
        accessTokenFormat: "opaque",
      };
    },
  };
}
