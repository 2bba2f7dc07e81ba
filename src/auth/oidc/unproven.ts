import type { KoaContextWithOIDC } from "oidc-provider";
import type { Problem } from "../../problem.ts";

/** @returns What the caller is told instead of that its proof is wrong, if need be. */
type OnUnproven = () => Promise<Problem | undefined>;

/** Endpoints where clients prove who they are. */
const provingRoutes: readonly (string | undefined)[] = ["token", "revocation"];

/** By the response to the request, which oidc-provider is given as it is. */
const listeners = new WeakMap<object, OnUnproven>();

/** Has a function called when the client of a request cannot prove who it is. @param response To
 *  that request, as oidc-provider is given it. */
export function whenUnproven(response: object, tell: OnUnproven): void {
  listeners.set(response, tell);
}

/** Tells who wanted to know when a proof was wrong. */
export async function tellUnproven(ctx: KoaContextWithOIDC): Promise<Problem | undefined> {
  return isUnproven(ctx) ? listeners.get(ctx.res)?.() : undefined;
}

/** Wrong proofs are `invalid_client` (RFC 6749 section 5.2); about one that cannot be read, oidc-provider
 *  says `invalid_request`, before it has looked for the client. */
function isUnproven({ oidc, status, body }: KoaContextWithOIDC): boolean {
  if (!provingRoutes.includes(oidc?.route)) return false;
  const isUnread = oidc.entities.Client === undefined && errorOf(body) === "invalid_request";
  return status === 401 || (status === 400 && isUnread);
}

/**
 * Says how a client can prove who it is, in every answer that asks for it: 401 is never without a
 * challenge (RFC 9110 section 15.5.2). oidc-provider gives one only to who sent `Authorization`.
 */
export function challengeClient(ctx: KoaContextWithOIDC, issuer: string): void {
  const isAsked = ctx.status === 401 && errorOf(ctx.body) === "invalid_client";
  if (!isAsked || ctx.res.hasHeader("www-authenticate")) return;
  ctx.set("www-authenticate", `Basic realm="${issuer}", error="invalid_client"`);
}

function errorOf(body: unknown): unknown {
  return (body as { readonly error?: unknown } | null | undefined)?.error;
}
