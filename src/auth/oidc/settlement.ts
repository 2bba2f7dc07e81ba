import { errors, Provider } from "oidc-provider";
import type { AdapterContext } from "./adapter-context.ts";
import { type AdmitToken, type Document, issue, type Place } from "./issuance.ts";
import { readsOf } from "./request-state.ts";

/** What a request for a token has used up and issued so far. */
interface OpenExchange {
  readonly uses: Place[];
  readonly documents: Document[];
}

const open = new WeakMap<object, OpenExchange>();

/** By the response to the request, which oidc-provider is given as it is. */
const admissions = new WeakMap<object, AdmitToken>();

/** Has a function decide whether the client of a token request is given a token.
 *  @param response To that request, as oidc-provider is given it. */
export function admitTokenOf(response: object, admitToken: AdmitToken): void {
  admissions.set(response, admitToken);
}

/** The exchange of the token request under way; `undefined` in any other request. */
export function exchangeUnderWay(): OpenExchange | undefined {
  const { ctx } = Provider;
  if (ctx?.oidc.route !== "token") return undefined;
  const exchange = open.get(ctx) ?? { uses: [], documents: [] };
  open.set(ctx, exchange);
  return exchange;
}

/**
 * Makes the exchange of each token request when its answer is ready, and only then lets the answer
 * go: oidc-provider uses up a code, then stores one token and then another, and between two steps a
 * second request with the same code would end the first one's tokens or be too late to.
 */
export function settleExchanges(provider: Provider, context: AdapterContext): void {
  provider.use(async (ctx, next) => {
    await next();
    const exchange = open.get(ctx);
    if (exchange === undefined || ctx.status !== 200) return;
    try {
      const admitToken = admissions.get(ctx.res);
      await issue({ ...exchange, admitToken }, readsOf(ctx), context);
    } catch (error) {
      if (!(error instanceof errors.OIDCProviderError)) throw error;
      const { status, error: code, error_description } = error;
      ctx.status = status;
      ctx.body = { error: code, error_description };
    }
  });
}
