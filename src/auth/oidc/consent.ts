import {
  type Client,
  type Configuration,
  errors,
  type KoaContextWithOIDC,
  type Provider,
} from "oidc-provider";
import type { GrantRecord } from "../accounts/grants.ts";
import { isScope, scopeNames } from "../scopes.ts";

/** A person's answer on the consent page. */
export interface Decision {
  /** The resources that the client requests. */
  readonly resources: readonly string[];
  /** Names of all scopes that the client requests. */
  readonly asked: readonly string[];
  /** Those of them that the page showed. */
  readonly open: readonly string[];
  /** Those of them that the person allows; any other name is ignored. */
  readonly allowed: readonly string[];
  /** Origin of the redirect URI (`redirectOrigin`), approved with whatever is allowed. */
  readonly redirectOrigin: string;
  /** Whether the page said that the access lasts while the person is away. */
  readonly isLasting: boolean;
}

/** Scopes by resource, and those of OpenID Connect; names separated by spaces. */
interface Scopes {
  resources?: Record<string, string> | undefined;
  openid?: { scope?: string | undefined; claims?: string[] | undefined } | undefined;
}

/** A grant, as far as it is decided on. */
export interface GrantApprovals extends Scopes {
  rejected?: Scopes | undefined;
  redirectOrigins?: readonly string[] | undefined;
  isLasting?: boolean | undefined;
}

/** Makes oidc-provider store with a grant what else the person approved: it stores only members
 *  that it knows. */
export function keepApprovals({ Grant }: Provider): void {
  const { IN_PAYLOAD } = Grant as unknown as { readonly IN_PAYLOAD: readonly string[] };
  const value = [...IN_PAYLOAD, "redirectOrigins", "isLasting"];
  Object.defineProperty(Grant, "IN_PAYLOAD", { value });
}

/** Whether a client can use what it requests while the person is away: by refresh tokens, or, as
 *  far as the person is told, by `offline_access`. */
export function requestsOfflineAccess(client: Client | undefined, scope: unknown): boolean {
  const isOffline = scopeNames(String(scope ?? "")).includes("offline_access");
  return isOffline || client?.grantTypeAllowed("refresh_token") === true;
}

/** Whether the person has approved access that lasts. @param grant `undefined`: nothing. */
export function approvesOfflineAccess(
  grant: Pick<GrantApprovals, "isLasting"> | undefined,
): boolean {
  return grant?.isLasting === true;
}

const grantIn = ({ oidc }: KoaContextWithOIDC) => oidc.entities.Grant as GrantRecord | undefined;

/** When a client gets refresh tokens. What the person approved decides, since a client can change
 *  its registration or metadata document at any time after the consent. */
export const refreshTokenPolicy: Pick<Configuration, "issueRefreshToken" | "rotateRefreshToken"> = {
  issueRefreshToken: (ctx, client) =>
    client.grantTypeAllowed("refresh_token") && approvesOfflineAccess(grantIn(ctx)),
  rotateRefreshToken(ctx) {
    // Refresh tokens of grants from before this was kept go on.
    if (grantIn(ctx)?.isLasting !== false) return true;
    throw new errors.InvalidGrant("the person no longer allows access that lasts");
  },
};

/** Records a decision in a grant. Refusals are recorded too, since oidc-provider prompts until
 *  each scope is either allowed or refused. The latest decision on a scope counts, so that a
 *  refused scope can be allowed later. The page names no resource, so a refusal holds for every
 *  resource that was allowed before. Access that lasts covers only what is asked on a page that says
 *  so: any other scope is asked for again. */
export function applyDecision(grant: GrantApprovals, decision: Decision): void {
  const { resources, asked, open, allowed, redirectOrigin, isLasting } = decision;
  const granted = open.filter((name) => allowed.includes(name));
  const refused = open.filter((name) => !allowed.includes(name));
  const personal = asked.filter((name) => !isScope(name));
  grant.redirectOrigins = [...new Set([...(grant.redirectOrigins ?? []), redirectOrigin])];
  if (isLasting && !approvesOfflineAccess(grant)) forgetAllowed(grant, asked);
  grant.isLasting = isLasting;
  grant.rejected ??= {};
  for (const resource of resources) {
    change(grant, { resource, add: granted, drop: refused });
    change(grant.rejected, { resource, add: refused, drop: granted });
  }
  for (const resource of Object.keys(grant.resources ?? {})) {
    change(grant, { resource, add: [], drop: refused });
  }
  // oidc-provider counts every scope among those of OpenID Connect too.
  const { rejected } = grant;
  grant.openid = {
    ...grant.openid,
    scope: changed(grant.openid?.scope, [...granted, ...personal], refused),
  };
  rejected.openid = {
    ...rejected.openid,
    scope: changed(rejected.openid?.scope, refused, granted),
  };
}

/** Takes back what was allowed, save for the scopes that are asked for now. */
function forgetAllowed(grant: GrantApprovals, asked: readonly string[]): void {
  const kept = (scope = "") =>
    scopeNames(scope)
      .filter((name) => asked.includes(name))
      .join(" ");
  const resources = Object.entries(grant.resources ?? {});
  grant.resources = Object.fromEntries(resources.map(([name, scope]) => [name, kept(scope)]));
  grant.openid = { ...grant.openid, scope: kept(grant.openid?.scope) };
}

interface Change {
  readonly resource: string;
  readonly add: readonly string[];
  readonly drop: readonly string[];
}

function change(scopes: Scopes, { resource, add, drop }: Change): void {
  const names = changed(scopes.resources?.[resource], add, drop);
  scopes.resources = { ...scopes.resources, [resource]: names };
}

function changed(before = "", add: readonly string[], drop: readonly string[]): string {
  const kept = before.split(" ").filter((name) => name !== "" && !drop.includes(name));
  return [...new Set([...kept, ...add])].join(" ");
}
