import { getMethod } from "../../openapi/operations/market.ts";
import type { PeerTables } from "../../score/peers.ts";
import { methodAnswer } from "../../tool/method.ts";
import type { ToolContext } from "../../tool/tool.ts";
import { type Admit, operationRoute } from "../operation-routes.ts";
import type { Route } from "../route-table.ts";
import { sendAnswer } from "../send-response.ts";
import { createAnswerCache, toolAnswerOf } from "./answers.ts";

/** Dependencies of the method route. */
interface MethodRouteOptions {
  readonly context: ToolContext;
  readonly admit: Admit;
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
export function methodRoute({ context, admit, tables }: MethodRouteOptions): Route {
  const cache = createAnswerCache(context);
  return operationRoute(getMethod, admit, async (request) => {
    const version = request.param("version");
    const query = request.query();
    const question = `${version} ${query.tables ?? ""}`;
    const answer = () => toolAnswerOf(methodAnswer(version, query, { context, tables: tables() }));
    const method = cache.find(question) ?? (await cache.compute(question, answer));
    const cacheControl = query.tables === undefined ? CACHE.newest : CACHE.named;
    await sendAnswer(request.context, method, cacheControl);
  });
}
