import type { KoaContextWithOIDC, Provider } from "oidc-provider";
import type { GrantRecord } from "../../principals/accounts/grants.ts";
import { approvesRedirect } from "./redirect-uris.ts";
import { requestHooksOf, requestStateOf } from "./request-state.ts";

/** Parameters of an error response to the client (RFC 6749 section 4.1.2.1, RFC 9207). */
const errorParameters = ["error", "error_description", "state", "iss"];

/**
 * Restricts error redirects to three safe cases: the signed-in person has approved the origin of
 * the redirect URI for the client, the client requested `prompt=none`, or the person denied
 * consent. Anyone can register any URL, so this server would otherwise be an open redirector (RFC
 * 9700 section 4.11.2). All other errors are answered as JSON without a redirect, with the
 * parameters of the redirect and the status 400, or 500 for an internal error.
 */
export function restrictErrorRedirects(provider: Provider): void {
  const note = (ctx: KoaContextWithOIDC): void => {
    requestStateOf(ctx).hasAuthorizationError = true;
  };
  provider.on("authorization.error", note);
  provider.on("server_error", note);
  provider.use(async (context, next) => {
    await next();
    const ctx = context as KoaContextWithOIDC;
    const location = ctx.res.getHeader("location");
    const isRedirect = requestStateOf(ctx).hasAuthorizationError === true && location !== undefined;
    if (!isRedirect || (await mayRedirect(ctx, provider))) return;
    ctx.remove("location");
    const response = errorResponseIn(new URL(String(location)));
    ctx.status = response.error === "server_error" ? 500 : 400;
    ctx.body = response;
  });
}

/** Lets the HTTP layer respond to rejected authorization requests (`onAuthorizationError`). */
export function delegateAuthorizationErrors(provider: Provider): void {
  provider.use(async (ctx, next) => {
    await next();
    const { onAuthorizationError } = requestHooksOf(ctx.res);
    const { problem } = requestStateOf(ctx);
    const isRefused = problem !== undefined || ctx.status === 400 || ctx.status === 500;
    if (onAuthorizationError === undefined || !isRefused) return;
    ctx.respond = false;
    onAuthorizationError(problem ?? (ctx.body as { readonly error: string }));
  });
}

/**
 * The error parameters of a redirect URL. For response types that this server rejects, the
 * parameters are in the fragment.
 */
function errorResponseIn({ searchParams, hash }: URL): Readonly<Record<string, string>> {
  const parameters = hash === "" ? searchParams : new URLSearchParams(hash.slice(1));
  return Object.fromEntries([...parameters].filter(([name]) => errorParameters.includes(name)));
}

async function mayRedirect(ctx: KoaContextWithOIDC, provider: Provider): Promise<boolean> {
  const { params = ctx.query, entities, client } = ctx.oidc;
  // The client may have removed the redirect URI since the request started.
  if (client?.redirectUriAllowed(String(params.redirect_uri)) !== true) return false;
  // An interaction has an error as its result only after the person denied consent.
  const hasRefused = entities.Interaction?.result?.error !== undefined;
  if (params.prompt === "none" || hasRefused) return true;
  return approvesRedirect(await grantOf(ctx, provider), String(params.redirect_uri));
}

/** The grant that the client has from the person who is signed in at the browser. */
async function grantOf({ oidc }: KoaContextWithOIDC, { Grant }: Provider) {
  const grantId = oidc.client && oidc.session?.grantIdFor(oidc.client.clientId);
  return grantId === undefined ? undefined : ((await Grant.find(grantId)) as GrantRecord);
}
