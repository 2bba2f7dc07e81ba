import type { KoaContextWithOIDC, Provider } from "oidc-provider";
import { isHashedSecret } from "../../access/secrets.ts";
import { matchesEtag, strongEtag } from "../../lib/etag.ts";
import { Problem } from "../../lib/problem.ts";
import { hasMetadataDocument, metadataDocumentGrantTypes } from "./metadata-documents.ts";
import { requestHooksOf, requestStateOf } from "./request-state.ts";

/**
 * The response body for a temporary problem of the service. The error code is from RFC 6749 section
 * 4.1.2.1, since all codes of section 5.2 blame the request.
 */
export function unavailableBody({ detail, next }: Problem): Readonly<Record<string, string>> {
  return { error: "temporarily_unavailable", error_description: `${detail} ${next}` };
}

function respondProblem(ctx: KoaContextWithOIDC, problem: Problem): void {
  ctx.remove("location");
  ctx.remove("www-authenticate");
  ctx.status = problem.status;
  ctx.set(problem.headers);
  ctx.body = unavailableBody(problem);
}

/**
 * Removes the hash of the client secret from a response. RFC 7592 section 3 requires every
 * registered member, but a client has no use for the hash, so only the response that issues the
 * secret contains a secret.
 */
function hideHashedSecret(ctx: KoaContextWithOIDC): void {
  const { client_secret, ...others } = (ctx.body ?? {}) as { client_secret?: unknown };
  if (isHashedSecret(client_secret)) ctx.body = others;
}

/**
 * Replaces oidc-provider's `invalid_request` with `unauthorized_client` when the client did not
 * register the requested grant type (RFC 6749 section 5.2).
 */
function correctGrantError(ctx: KoaContextWithOIDC): void {
  const { route, client, params } = ctx.oidc ?? {};
  const { error } = (ctx.body ?? {}) as { readonly error?: unknown };
  const grant = params?.grant_type;
  if (route !== "token" || client === undefined || typeof grant !== "string") return;
  if (error !== "invalid_request" || client.grantTypeAllowed(grant)) return;
  const { clientId, grantTypes = [] } = client;
  const usable = grantTypes.filter((type) => client.grantTypeAllowed(type));
  const own = `this client may use ${usable.join(", ") || "no grant"}`;
  const error_description = `${own}; ${
    grantTypes.includes(grant)
      ? `${grant} requires a confidential client: register one with POST /oauth/register`
      : otherGrantAdvice(clientId, grant)
  }`;
  ctx.body = { error: "unauthorized_client", error_description };
}

/** Advice on how the client can register the grant type. */
function otherGrantAdvice(clientId: string, grant: string): string {
  if (!hasMetadataDocument(clientId))
    return `PUT /oauth/register/${clientId} changes its grant_types`;
  return metadataDocumentGrantTypes.includes(grant)
    ? "change grant_types in its metadata document"
    : "for another grant, register a client with POST /oauth/register";
}

/**
 * Replaces the scope in a response about a client with the scope that the client registered;
 * oidc-provider sees a wider scope (`providerMetadata` in client-adapter.ts).
 */
function showRegisteredScope(ctx: KoaContextWithOIDC): void {
  if (ctx.oidc?.route !== "client" || ctx.status !== 200) return;
  const client = requestStateOf(ctx).clients.get(ctx.oidc.client?.clientId ?? "");
  ctx.body = { ...(ctx.body as object), scope: client?.value.metadata.scope ?? "" };
}

/** Response modes in the metadata. `form_post` is not supported: this service's content security
 *  policy blocks oidc-provider's self-submitting page. */
export const RESPONSE_MODES: readonly string[] = ["query"];

/** Corrects the metadata documents, and adds an ETag (RFC 9110 section 8.8.3). */
function correctMetadata(ctx: KoaContextWithOIDC): void {
  const route = ctx.oidc?.route;
  if ((route !== "discovery" && route !== "jwks") || ctx.status !== 200) return;
  if (route === "discovery") {
    ctx.body = { ...(ctx.body as object), response_modes_supported: RESPONSE_MODES };
  }
  const etag = strongEtag(JSON.stringify(ctx.body));
  ctx.set("etag", etag);
  if (matchesEtag(ctx.req, etag)) ctx.status = 304;
}

/** The problem that caused an error of oidc-provider, which may have wrapped the problem. */
function problemBehind(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error;
  return error instanceof Error ? problemBehind(error.cause) : undefined;
}

/** Endpoints where clients authenticate. */
const authenticatingRoutes: readonly (string | undefined)[] = ["token", "revocation"];

/** Whether client authentication failed: `invalid_client` (RFC 6749 section 5.2), or
 *  `invalid_request` for credentials that oidc-provider cannot parse. */
function hasFailedAuthentication({ oidc, status, body }: KoaContextWithOIDC): boolean {
  if (!authenticatingRoutes.includes(oidc?.route)) return false;
  const isUnreadable = oidc.entities.Client === undefined && errorOf(body) === "invalid_request";
  return status === 401 || (status === 400 && isUnreadable);
}

/**
 * Adds the `WWW-Authenticate` challenge that every 401 must have (RFC 9110 section 15.5.2).
 * oidc-provider adds a challenge only if the request had an `Authorization` header.
 */
function challengeClient(ctx: KoaContextWithOIDC, issuer: string): void {
  const isAsked = ctx.status === 401 && errorOf(ctx.body) === "invalid_client";
  if (!isAsked || ctx.res.hasHeader("www-authenticate")) return;
  ctx.set("www-authenticate", `Basic realm="${issuer}", error="invalid_client"`);
}

function errorOf(body: unknown): unknown {
  return (body as { readonly error?: unknown } | null | undefined)?.error;
}

/**
 * Corrects the responses of oidc-provider: 503 when the store is unavailable and 429 for an
 * exceeded limit, even in place of a redirect; no hashes of secrets; and a challenge with every
 * 401.
 *
 * @param onError Called with every other internal error.
 */
export function correctResponses(provider: Provider, onError: (error: unknown) => void): void {
  provider.onerror = onError;
  const note = (ctx: KoaContextWithOIDC, error: unknown): boolean => {
    const problem = problemBehind(error);
    if (problem !== undefined) requestStateOf(ctx).problem = problem;
    return problem !== undefined;
  };
  provider.on("authorization.error", note);
  provider.on("grant.error", note);
  provider.on("revocation.error", note);
  provider.on("server_error", (ctx, error: unknown) => {
    if (!note(ctx, error)) onError(error);
  });
  provider.use(async (context, next) => {
    const ctx = context as KoaContextWithOIDC;
    const state = requestStateOf(ctx);
    try {
      await next();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      state.problem = error;
    }
    if (state.problem === undefined && hasFailedAuthentication(ctx)) {
      const problem = await requestHooksOf(ctx.res).onFailedClientAuthentication?.();
      if (problem !== undefined) state.problem = problem;
    }
    if (state.problem !== undefined) return respondProblem(ctx, state.problem);
    correctGrantError(ctx);
    challengeClient(ctx, provider.issuer);
    hideHashedSecret(ctx);
    showRegisteredScope(ctx);
    correctMetadata(ctx);
  });
}
