import { isScope } from "../scopes.ts";

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
}

/** Scopes by resource, and those of OpenID Connect; names separated by spaces. */
interface Scopes {
  resources?: Record<string, string> | undefined;
  openid?: { scope?: string | undefined; claims?: string[] | undefined } | undefined;
}

/** A grant, as far as it is decided on. */
export interface Decided extends Scopes {
  rejected?: Scopes | undefined;
  redirectOrigins?: readonly string[] | undefined;
}

/** Records a decision in a grant. Refusals are recorded too, since oidc-provider prompts until
 *  each scope is either allowed or refused. The latest decision on a scope counts, so that a
 *  refused scope can be allowed later. The page names no resource, so a refusal holds for every
 *  resource that was allowed before. */
export function decideOn(grant: Decided, decision: Decision): void {
  const { resources, asked, open, allowed, redirectOrigin } = decision;
  const granted = open.filter((name) => allowed.includes(name));
  const refused = open.filter((name) => !allowed.includes(name));
  const personal = asked.filter((name) => !isScope(name));
  grant.redirectOrigins = [...new Set([...(grant.redirectOrigins ?? []), redirectOrigin])];
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
