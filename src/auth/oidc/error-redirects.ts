import type { KoaContextWithOIDC, Provider } from "oidc-provider";
import type { Problem } from "../../problem.ts";
import type { GrantRecord } from "../accounts/grants.ts";
import { approvesRedirect } from "./redirect-uris.ts";

/** What an error redirect says to the client (RFC 6749 section 4.1.2.1, RFC 9207). */
const members = ["error", "error_description", "state", "iss"];

/**
 * Sends a browser back with an error only where it may go without the person: to an origin that the
 * signed-in person approved for the client, when the client asked for silence (`prompt=none`), and
 * after the person refused on the consent page. Anybody can register any address, so this server would
 * otherwise redirect to every site of the internet (RFC 9700 section 4.11.2). All other errors are
 * answered here, with the members of the redirect as JSON: with status 400, or 500 for a failure of
 * this server.
 */
export function holdErrorRedirects(provider: Provider): void {
  const failed = new WeakSet<object>();
  const note = (ctx: object): void => void failed.add(ctx);
  provider.on("authorization.error", note);
  provider.on("server_error", note);
  provider.use(async (context, next) => {
    await next();
    const ctx = context as KoaContextWithOIDC;
    const location = ctx.res.getHeader("location");
    if (!failed.has(ctx) || location === undefined || (await mayLeave(ctx, provider))) return;
    ctx.remove("location");
    const answer = answerIn(new URL(String(location)));
    ctx.status = answer.error === "server_error" ? 500 : 400;
    ctx.body = answer;
  });
}

/** Why an authorization request leads nowhere. */
interface Refusal {
  /** Name of the error (RFC 6749 section 4.1.2.1). */
  readonly error: string;
  readonly error_description?: string;
}

/** By the response to the request, which oidc-provider is given as it is. */
const answers = new WeakMap<object, AnswerRefusal>();

/** Answers an authorization request that is refused. @param refusal A problem when the service could
 *  not answer it, or does not yet. */
type AnswerRefusal = (refusal: Refusal | Problem) => void;

/** Lets a function answer when an authorization request is refused here, in place of the JSON that
 *  programs get. @param response To that request, as oidc-provider is given it. */
export function whenRefused(response: object, answer: AnswerRefusal): void {
  answers.set(response, answer);
}

/** Leaves refusals to whoever wanted to answer them. */
export function leaveRefusals(provider: Provider): void {
  provider.use(async (ctx, next) => {
    await next();
    const answer = answers.get(ctx.res);
    const problem: Problem | undefined = ctx.state.problem;
    const isRefused = ctx.status === 400 || ctx.status === 500;
    if (answer === undefined || (problem === undefined && !isRefused)) return;
    ctx.respond = false;
    answer(problem ?? (ctx.body as Refusal));
  });
}

/** What a redirect tells the client: for the response types that this server refuses, in the fragment. */
function answerIn({ searchParams, hash }: URL): Readonly<Record<string, string>> {
  const told = hash === "" ? searchParams : new URLSearchParams(hash.slice(1));
  return Object.fromEntries([...told].filter(([name]) => members.includes(name)));
}

async function mayLeave(ctx: KoaContextWithOIDC, provider: Provider): Promise<boolean> {
  const { params = ctx.query, entities } = ctx.oidc;
  // Only the page where the person refused leads to this answer.
  const hasRefused = entities.Interaction?.result?.error !== undefined;
  if (params.prompt === "none" || hasRefused) return true;
  return approvesRedirect(await grantOf(ctx, provider), String(params.redirect_uri));
}

/** What the person who is signed in at the browser has allowed the client. */
async function grantOf({ oidc }: KoaContextWithOIDC, { Grant }: Provider) {
  const grantId = oidc.client && oidc.session?.grantIdFor(oidc.client.clientId);
  return grantId === undefined ? undefined : ((await Grant.find(grantId)) as GrantRecord);
}
