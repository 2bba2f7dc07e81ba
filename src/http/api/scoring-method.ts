import { MethodQuery, MethodVersion, methodAnswer } from "../../answers/method.ts";
import { serviceOperations } from "../../openapi/operations/service-status.ts";
import type { PeerTables } from "../../score/peers.ts";
import type { ToolContext } from "../../tool.ts";
import type { ProtectedResource } from "../authorize.ts";
import { sendValidated } from "../conditional-response.ts";
import { routeOf } from "../mount.ts";
import { queryOf } from "../request-context.ts";
import type { Route } from "../route-table.ts";
import { answerOf, createAnswerCache } from "./answers.ts";
import { parse } from "./parse.ts";

const [getMethod] = serviceOperations;

/** What the published method is made from. */
export interface MethodOptions {
  readonly context: ToolContext;
  readonly api: ProtectedResource;
  /** Every table that a kept snapshot was made with, newest first. */
  readonly tables: () => readonly PeerTables[];
}

/** A named table never changes; the newest one is asked for again after every session. */
const CACHE = {
  named: "private, max-age=31536000, immutable",
  newest: "private, no-cache",
} as const;

/** GET /api/method/{version}: weights, thresholds and tables, for whoever may read factors. */
export function methodRoute({ context, api, tables }: MethodOptions): Route {
  const cache = createAnswerCache(context);
  return routeOf(getMethod, async (request) => {
    const { req, res, params } = request;
    await api.authorize(request, ["factor:read"]);
    const version = parse(MethodVersion, params.version);
    const query = parse(MethodQuery, single(queryOf(req)));
    const question = `${version} ${query.tables ?? ""}`;
    const answer = () => answerOf(methodAnswer(version, query, { context, tables: tables() }));
    const { json, etag } = cache.find(question) ?? (await cache.keep(question, answer));
    const cacheControl = query.tables === undefined ? CACHE.newest : CACHE.named;
    sendValidated(req, res, { json, etag, cacheControl });
  });
}

/** Members of a query; one that comes several times is a list, which no schema here takes. */
const single = (query: URLSearchParams) =>
  Object.fromEntries(
    [...new Set(query.keys())].map((name) => {
      const [value, ...more] = query.getAll(name);
      return [name, more.length === 0 ? value : [value, ...more]];
    }),
  );
