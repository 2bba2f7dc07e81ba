import { Provider } from "oidc-provider";

/** @throws Refuses the request. */
type BeforeKept = () => Promise<void>;

/** By the response to the request, which oidc-provider is given as it is. */
const listeners = new WeakMap<object, BeforeKept>();

/** Has a function called before an authorization request is kept, which is not kept when that throws.
 *  @param response To that request, as oidc-provider is given it. */
export function beforeKept(response: object, tell: BeforeKept): void {
  listeners.set(response, tell);
}

/** Tells who wanted to know that the request under way is about to be kept. What goes on after a page
 *  takes the place of what was begun. */
export async function tellBeforeKept(): Promise<void> {
  const { ctx } = Provider;
  if (ctx?.oidc.route === "authorization") await listeners.get(ctx.res)?.();
}
