import type { RequestHandler, Router } from "express";
import { addressKey } from "../limits/address-key.ts";
import { countEachInNetworks } from "../limits/count-in-networks.ts";
import type { Limits } from "../limits/limits.ts";
import type { Operation, RateLimit } from "../openapi/operation.ts";
import { onlyMethods } from "./allowed-methods.ts";
import { limitBy, requireWithinLimits } from "./rate-limits.ts";
import type { Handler, Route } from "./route-table.ts";

/** The handlers of each operation, by id, in order. */
type HandlersOf<O extends Operation> = Readonly<Record<O["id"], readonly RequestHandler[]>>;

/**
 * Serves operations with Express at the methods and paths of the table of operations; other methods of
 * these paths are rejected.
 *
 * @param limits Count requests as the table says, before any handler; absent if the handlers count.
 * @throws {Problem} `method_not_allowed`, `rate_limited`
 */
export function mount<const O extends Operation>(
  router: Router,
  operations: readonly O[],
  handlers: HandlersOf<O>,
  limits?: Limits,
): void {
  for (const [path, group = []] of Object.entries(Object.groupBy(operations, pathInExpress))) {
    const route = router.route(path);
    for (const { method, id, limit } of group) {
      const counting = limit && limits ? [rateLimit(limits, limit)] : [];
      route[method](...counting, ...handlers[id as O["id"]]);
    }
    route.all(onlyMethods(group.map(({ method }) => method)));
  }
}

/** A route of the route table that serves an operation. */
export const routeOf = ({ method, path }: Operation, handle: Handler): Route => ({
  method: method.toUpperCase() as Route["method"],
  path,
  handle,
});

/** `/oauth/register/{client_id}` is `/oauth/register/:clientId` in Express. */
const pathInExpress = ({ path }: Operation): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => `:${camelCase(name)}`);

const camelCase = (name: string): string =>
  name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/**
 * Counts a request as the table of operations says.
 *
 * @throws {Problem} `rate_limited`
 */
export function rateLimit(limits: Limits, limit: RateLimit): RequestHandler {
  if (limit.per === "network") {
    return async ({ ip }, res, next) => {
      requireWithinLimits(res, await countEachInNetworks(limits, limit.quotas, ip));
      next();
    };
  }
  const { per, quotas } = limit;
  // Unauthenticated requests can name any client id. Counting it together with the address prevents
  // strangers from using up the client's quota.
  return limitBy(limits, quotas, ({ params, ip }) =>
    per === "client" ? `${params.clientId} ${addressKey(ip)}` : addressKey(ip),
  );
}
