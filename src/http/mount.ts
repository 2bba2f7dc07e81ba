import type { RequestHandler, Router } from "express";
import { ipAddressKey, partyAt } from "../limits/address-key.ts";
import type { Limits, Party } from "../limits/limits.ts";
import type { Operation, RateLimit } from "../openapi/operation.ts";
import { rejectOtherMethods } from "./allowed-methods.ts";
import { limitRequestsBy } from "./rate-limits.ts";
import type { Handler, Route } from "./route-table.ts";

/**
 * Registers operations with Express at the methods and paths of the operation table. Other methods
 * of these paths are rejected.
 *
 * @param handlers By operation id, in the order in which they run.
 * @param limits Counts each request before its handlers run, as the operation table specifies;
 * absent if the handlers count requests themselves.
 * @throws {Problem} `method_not_allowed`, `rate_limited`
 */
export function mountOperations<const O extends Operation>(
  router: Router,
  operations: readonly O[],
  handlers: Readonly<Record<O["id"], readonly RequestHandler[]>>,
  limits?: Limits,
): void {
  for (const [path, group = []] of Object.entries(Object.groupBy(operations, pathInExpress))) {
    const route = router.route(path);
    for (const { method, id, limit } of group) {
      const counting = limit && limits ? [createRateLimitHandler(limits, limit)] : [];
      route[method](...counting, ...handlers[id as O["id"]]);
    }
    route.all(rejectOtherMethods(group.map(({ method }) => method)));
  }
}

/** Creates the entry of an operation for the route table. */
export const routeOf = ({ method, path, takesRest }: Operation, handle: Handler): Route => ({
  method: method.toUpperCase() as Route["method"],
  path,
  ...(takesRest && { takesRest }),
  handle,
});

/**
 * The path of an operation in Express syntax: `/oauth/register/{client_id}` becomes
 * `/oauth/register/:clientId`.
 */
const pathInExpress = ({ path }: Operation): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => `:${camelCase(name)}`);

const camelCase = (name: string): string =>
  name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/**
 * Counts a request against the limit that the operation table specifies.
 *
 * @throws {Problem} `rate_limited`
 */
const createRateLimitHandler = (limits: Limits, limit: RateLimit): RequestHandler =>
  limitRequestsBy(limits, limit.name, (req) => partyOf(limit, req));

/** The part of a request from which its party follows. */
interface SentRequest {
  readonly ip: string | undefined;
  readonly params: Readonly<Record<string, unknown>>;
}

/**
 * The party against whose numbers a request counts. Unauthenticated requests can contain any client
 * id. The id is counted together with the address, so that others cannot use up the client's
 * number.
 */
export const partyOf = ({ per }: RateLimit, { ip, params }: SentRequest): Party =>
  per === "client" ? partyAt(ip, `${params.clientId} ${ipAddressKey(ip)}`) : partyAt(ip);
