import type { KoaContextWithOIDC, Provider } from "oidc-provider";
import { isKnown, strongEtag } from "../../lib/etag.ts";
import { Problem } from "../../problem.ts";
import { isHashed } from "../secrets.ts";
import { documentGrantTypes, isByDocument } from "./metadata-documents.ts";
import { readsOf } from "./request-state.ts";
import { challengeClient, tellUnproven } from "./unproven.ts";

/** The body for a problem that is the service's own and will pass, in the words of RFC 6749
 *  section 4.1.2.1; those of section 5.2 only blame the request. */
export function unavailableBody({ detail, next }: Problem): Readonly<Record<string, string>> {
  return { error: "temporarily_unavailable", error_description: `${detail} ${next}` };
}

function answerProblem(ctx: KoaContextWithOIDC, problem: Problem): void {
  ctx.remove("location");
  ctx.remove("www-authenticate");
  ctx.status = problem.status;
  ctx.set(problem.headers);
  ctx.body = unavailableBody(problem);
  ctx.state.problem = problem;
}

/** RFC 7592 section 3 wants every registered member shown, but of the secret there is only a hash,
 *  which is of no use to the client: so it stands only in the answer that issues it. */
function hideHashedSecret(ctx: KoaContextWithOIDC): void {
  const { client_secret, ...others } = (ctx.body ?? {}) as { client_secret?: unknown };
  if (isHashed(client_secret)) ctx.body = others;
}

/** A known client that asks by a grant that it did not register is `unauthorized_client` (RFC 6749
 *  section 5.2), where oidc-provider says `invalid_request`. */
function nameWrongGrant(ctx: KoaContextWithOIDC): void {
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
      ? `${grant} needs one that proves who it is: register it by POST /oauth/register`
      : otherGrantWords(clientId, grant)
  }`;
  ctx.body = { error: "unauthorized_client", error_description };
}

/** How a client comes to use a grant that it did not register. */
function otherGrantWords(clientId: string, grant: string): string {
  if (!isByDocument(clientId)) return `PUT /oauth/register/${clientId} changes its grant_types`;
  return documentGrantTypes.includes(grant)
    ? "change grant_types in its metadata document"
    : "for another grant, register a client by POST /oauth/register";
}

/** A client is told the scope that it registered, not what the library was told (client-adapter.ts). */
function showRegisteredScope(ctx: KoaContextWithOIDC): void {
  if (ctx.oidc?.route !== "client" || ctx.status !== 200) return;
  const client = readsOf(ctx).clients.get(ctx.oidc.client?.clientId ?? "");
  ctx.body = { ...(ctx.body as object), scope: client?.value.metadata.scope ?? "" };
}

/** Ways to answer an authorization request that are announced; a page of the library's that posts a
 *  form by itself cannot run here. */
export const RESPONSE_MODES: readonly string[] = ["query"];

/** Documents say what holds here, and have a validator (RFC 9110 section 8.8.3). */
function showMetadata(ctx: KoaContextWithOIDC): void {
  const route = ctx.oidc?.route;
  if ((route !== "discovery" && route !== "jwks") || ctx.status !== 200) return;
  if (route === "discovery") {
    ctx.body = { ...(ctx.body as object), response_modes_supported: RESPONSE_MODES };
  }
  const etag = strongEtag(JSON.stringify(ctx.body));
  ctx.set("etag", etag);
  if (isKnown(ctx.req, etag)) ctx.status = 304;
}

/** The problem that made oidc-provider fail, which may have wrapped it. */
function problemBehind(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error;
  return error instanceof Error ? problemBehind(error.cause) : undefined;
}

/**
 * Lets the answers of oidc-provider say what it does not know of: a store that cannot answer is a
 * 503 and a limit a 429 wherever it struck, also in place of a redirect, hashes of secrets are not
 * shown, and every 401 to a client has a challenge.
 *
 * @param onError Told about every other failure that is not the caller's.
 */
export function adaptAnswers(provider: Provider, onError: (error: unknown) => void): void {
  const problems = new WeakMap<KoaContextWithOIDC, Problem>();
  provider.onerror = onError;
  const note = (ctx: KoaContextWithOIDC, error: unknown): boolean => {
    const problem = problemBehind(error);
    if (problem !== undefined) problems.set(ctx, problem);
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
    try {
      await next();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      problems.set(ctx, error);
    }
    const problem = problems.get(ctx) ?? (await tellUnproven(ctx));
    if (problem !== undefined) return answerProblem(ctx, problem);
    nameWrongGrant(ctx);
    challengeClient(ctx, provider.issuer);
    hideHashedSecret(ctx);
    showRegisteredScope(ctx);
    showMetadata(ctx);
  });
}
