import { errors, type KoaContextWithOIDC, type ResourceServer } from "oidc-provider";
import { type Scope, scopeAdvice, scopeNames } from "../scopes.ts";

/** Seconds an access token is good for (interface section 2.5). */
export const ACCESS_TOKEN_SECONDS = 3600;

/** The MCP endpoint is a resource of its own, below the resource of the whole service. */
const MCP_PATH = "/mcp";

/** What decides over a client_credentials token. */
export interface ResourcePolicy {
  /** The issuer, and the resource that covers the whole service; no trailing slash. */
  readonly baseUrl: string;
  /** What a client_credentials token may hold at most. */
  readonly anonymousScopes: readonly Scope[];
}

/** Whether a token for `granted` may be used at `wanted`: a token for the whole service is good
 *  everywhere, one for /mcp only there (RFC 8707). */
export function covers(granted: string, wanted: string): boolean {
  return wanted === granted || wanted === granted + MCP_PATH;
}

function canonical(uri: string): string | undefined {
  return URL.parse(uri)?.href.replace(/\/$/, "");
}

function audienceOf(resource: string, baseUrl: string): string {
  const audience = [baseUrl, baseUrl + MCP_PATH].find(
    (known) => canonical(known) === canonical(resource),
  );
  if (audience === undefined) throw new errors.InvalidTarget();
  return audience;
}

/**
 * The scope of a client_credentials request: what it asks for, or everything it may have when it
 * asks for nothing (RFC 6749 section 3.3). oidc-provider would leave out a scope it does not know
 * and issue a token that can do less than asked, so any scope out of reach is refused.
 */
function clientCredentialsScope(asked: string, ceiling: readonly string[]): string {
  const names = scopeNames(asked);
  const refused = names.filter((name) => !ceiling.includes(name));
  if (refused.length > 0 || ceiling.length === 0) {
    const choice = ceiling.length === 0 ? "no scope" : ceiling.join(" ");
    throw new errors.InvalidScope(
      `this client may ask for ${choice}; ${scopeAdvice}`,
      refused.join(" "),
    );
  }
  return (names.length === 0 ? ceiling : names).join(" ");
}

function settleScope(ctx: KoaContextWithOIDC, registered: string, policy: ResourcePolicy): void {
  const { params } = ctx.oidc;
  if (params?.grant_type !== "client_credentials") return;

  const ceiling = scopeNames(registered).filter((name) =>
    policy.anonymousScopes.some((scope) => scope === name),
  );
  params.scope = clientCredentialsScope(String(params.scope ?? ""), ceiling);
}

/** The resource indicators feature (RFC 8707): two resources, the whole service by default. */
export function resourceIndicators(policy: ResourcePolicy, allScopes: string) {
  return {
    enabled: true,
    defaultResource: () => policy.baseUrl,
    getResourceServerInfo(
      ctx: KoaContextWithOIDC,
      resource: string,
      client: { readonly scope?: string | undefined },
    ): ResourceServer {
      const audience = audienceOf(resource, policy.baseUrl);
      settleScope(ctx, client.scope ?? "", policy);
      return {
        audience,
        scope: allScopes,
        accessTokenTTL: ACCESS_TOKEN_SECONDS,
        accessTokenFormat: "opaque",
      };
    },
  };
}
