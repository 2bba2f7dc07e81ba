import {
  type Client,
  type Configuration,
  errors,
  type KoaContextWithOIDC,
  type Provider,
} from "oidc-provider";
import { isScope, parseScopeNames } from "../../access/scopes.ts";
import type { GrantRecord } from "../../principals/accounts/grants.ts";

/** A person's decision on the consent page. */
interface ConsentDecision {
  /** The resources that the client requests. */
  readonly resources: readonly string[];
  /** Names of all scopes that the client requests. */
  readonly requested: readonly string[];
  /** The requested scopes that the consent page showed. */
  readonly shown: readonly string[];
  /** The requested scopes that the person allows; scopes that were not requested are ignored. */
  readonly allowed: readonly string[];
  /** Origin of the redirect URI (`redirectOrigin`), approved with the scopes. */
  readonly redirectOrigin: string;
  /** Whether the consent page mentioned offline access. */
  readonly isLasting: boolean;
}

/** Scopes of each resource and of OpenID Connect, as scope names separated by spaces. */
interface GrantScopes {
  resources?: Record<string, string> | undefined;
  openid?: { scope?: string | undefined; claims?: string[] | undefined } | undefined;
}

/** The members of a grant that a decision changes. */
interface GrantApprovals extends GrantScopes {
  rejected?: GrantScopes | undefined;
  redirectOrigins?: readonly string[] | undefined;
  isLasting?: boolean | undefined;
}

/**
 * Makes oidc-provider store the additional members of a grant; by default it stores only the
 * members that it knows.
 */
export function extendStoredGrant({ Grant }: Provider): void {
  const { IN_PAYLOAD } = Grant as unknown as { readonly IN_PAYLOAD: readonly string[] };
  const value = [...IN_PAYLOAD, "redirectOrigins", "isLasting"];
  Object.defineProperty(Grant, "IN_PAYLOAD", { value });
}

/**
 * Whether a client requests access while the person is absent: through refresh tokens or through
 * `offline_access`. The consent page does not distinguish the two.
 */
export function requestsOfflineAccess(client: Client | undefined, scope: unknown): boolean {
  const isOffline = parseScopeNames(String(scope ?? "")).includes("offline_access");
  return isOffline || client?.grantTypeAllowed("refresh_token") === true;
}

/**
 * Whether the person has approved offline access.
 * @param grant `undefined` when the person has given the client no grant.
 */
export function approvesOfflineAccess(
  grant: Pick<GrantApprovals, "isLasting"> | undefined,
): boolean {
  return grant?.isLasting === true;
}

const grantIn = ({ oidc }: KoaContextWithOIDC) => oidc.entities.Grant as GrantRecord | undefined;

/**
 * Decides when a client gets refresh tokens. Only the person's approval counts, since a client can
 * change its registration or metadata document at any time after the consent.
 */
export const refreshTokenPolicy: Pick<Configuration, "issueRefreshToken" | "rotateRefreshToken"> = {
  issueRefreshToken: (ctx, client) =>
    client.grantTypeAllowed("refresh_token") && approvesOfflineAccess(grantIn(ctx)),
  rotateRefreshToken(ctx) {
    // Grants stored before this member was added lack it, and their refresh tokens stay valid.
    if (grantIn(ctx)?.isLasting !== false) return true;
    throw new errors.InvalidGrant("the person no longer allows offline access");
  },
};

/**
 * Applies a decision to a grant. Denied scopes are stored too, since oidc-provider prompts until
 * each scope is either allowed or denied. The latest decision on a scope counts, so a denied scope
 * can be allowed later. The page does not mention resources, so a denial applies to every resource
 * that was allowed before. Offline access covers only the scopes requested on a page that mentions
 * it; for other scopes, the person is asked again.
 */
export function applyConsentDecision(grant: GrantApprovals, decision: ConsentDecision): void {
  const { resources, requested, shown, allowed, redirectOrigin, isLasting } = decision;
  const granted = shown.filter((name) => allowed.includes(name));
  const refused = shown.filter((name) => !allowed.includes(name));
  const personal = requested.filter((name) => !isScope(name));
  grant.redirectOrigins = [...new Set([...(grant.redirectOrigins ?? []), redirectOrigin])];
  if (isLasting && !approvesOfflineAccess(grant)) removeUnrequested(grant, requested);
  grant.isLasting = isLasting;
  grant.rejected ??= {};
  for (const resource of resources) {
    changeScopes(grant, { resource, add: granted, remove: refused });
    changeScopes(grant.rejected, { resource, add: refused, remove: granted });
  }
  for (const resource of Object.keys(grant.resources ?? {})) {
    changeScopes(grant, { resource, add: [], remove: refused });
  }
  // oidc-provider also treats every scope of a resource as an OpenID Connect scope.
  const { rejected } = grant;
  grant.openid = {
    ...grant.openid,
    scope: changedNames(grant.openid?.scope, [...granted, ...personal], refused),
  };
  rejected.openid = {
    ...rejected.openid,
    scope: changedNames(rejected.openid?.scope, refused, granted),
  };
}

/** Removes the allowed scopes that the client no longer requests. */
function removeUnrequested(grant: GrantApprovals, requested: readonly string[]): void {
  const kept = (scope = "") =>
    parseScopeNames(scope)
      .filter((name) => requested.includes(name))
      .join(" ");
  const resources = Object.entries(grant.resources ?? {});
  grant.resources = Object.fromEntries(resources.map(([name, scope]) => [name, kept(scope)]));
  grant.openid = { ...grant.openid, scope: kept(grant.openid?.scope) };
}

interface ScopeChange {
  readonly resource: string;
  readonly add: readonly string[];
  readonly remove: readonly string[];
}

function changeScopes(scopes: GrantScopes, { resource, add, remove }: ScopeChange): void {
  const names = changedNames(scopes.resources?.[resource], add, remove);
  scopes.resources = { ...scopes.resources, [resource]: names };
}

function changedNames(before = "", add: readonly string[], drop: readonly string[]): string {
  const kept = before.split(" ").filter((name) => name !== "" && !drop.includes(name));
  return [...new Set([...kept, ...add])].join(" ");
}
