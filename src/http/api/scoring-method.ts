import { serviceStatusOperations } from "../../openapi/operations/service-status.ts";
import type { PeerTables } from "../../score/peers.ts";
import { MethodQuery, MethodVersion, methodAnswer } from "../../tool/method.ts";
import type { ToolContext } from "../../tool/tool.ts";
import { routeOf } from "../mount.ts";
import type { ProtectedResource } from "../protected-resource.ts";
import { queryParameters } from "../request-context.ts";
import type { Route } from "../route-table.ts";
import { sendAnswer } from "../send-response.ts";
import { createAnswerCache, toolAnswerOf } from "./answers.ts";
import { parseInput } from "./parse.ts";

const [getMethod] = serviceStatusOperations;

/** Dependencies of the method route. */
export interface MethodRouteOptions {
  readonly context: ToolContext;
  readonly api: ProtectedResource;
  /** The peer tables with which the retained snapshots were scored, newest first. */
  readonly tables: () => readonly PeerTables[];
}

/**
 * Values of `Cache-Control`: `named` for peer tables requested by name, which never change;
 * `newest` for the current tables, which must be revalidated because each session can replace them.
 */
const CACHE = {
  named: "private, max-age=31536000, immutable",
  newest: "private, no-cache",
} as const;

/**
 * GET /api/method/{version}: weights, thresholds and peer tables, for callers with the scope
 * `factor:read`.
 */
export function methodRoute({ context, api, tables }: MethodRouteOptions): Route {
  const cache = createAnswerCache(context);
  return routeOf(getMethod, async (request) => {
    const { req, params } = request;
    await api.authorize(request, ["factor:read"]);
    const version = parseInput(MethodVersion, params.version);
    const query = parseInput(MethodQuery, queryParameters(req));
    const question = `${version} ${query.tables ?? ""}`;
    const answer = () => toolAnswerOf(methodAnswer(version, query, { context, tables: tables() }));
    const method = cache.find(question) ?? (await cache.compute(question, answer));
    const cacheControl = query.tables === undefined ? CACHE.newest : CACHE.named;
    await sendAnswer(request, method, cacheControl);
  });
}
