import { isScope } from "../scopes.ts";

/** What a person was asked, and what they said. */
export interface Decision {
  /** The resources that the client asks for. */
  readonly resources: readonly string[];
  /** Names of all scopes that the client asks for. */
  readonly asked: readonly string[];
  /** Those of them that the person was asked about. */
  readonly open: readonly string[];
  /** Those of them that they allow; any other name counts for nothing. */
  readonly allowed: readonly string[];
  /** Where answers go (`redirectOrigin`), which the person approves with whatever they allow. */
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

/**
 * Writes a decision into a grant. What is refused is kept as well: oidc-provider asks until each scope
 * is one or the other. The last word on a scope counts, so that what was refused can be allowed when
 * the client asks again. The page names no resource, so that what a person refuses is refused for every
 * resource that they allowed before.
 */
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
  // To the library every scope is one of OpenID Connect too.
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
