import { Router } from "express";
import { MethodQuery, MethodVersion, methodAnswer } from "../../answers/method.ts";
import type { PeerTables } from "../../score/peers.ts";
import type { ToolContext } from "../../tool.ts";
import { onlyMethods } from "../allowed-methods.ts";
import { callerOf, type Gate } from "../authorize.ts";
import { sendValidated } from "../conditional-response.ts";
import { queryOf } from "../query.ts";
import { createAnswerMemory } from "./answer-cache.ts";
import { answerOf } from "./answers.ts";
import { parse } from "./parse.ts";

/** What the published method is made from. */
export interface MethodOptions {
  readonly context: ToolContext;
  readonly gate: Gate;
  /** Every table that a kept snapshot was made with, newest first. */
  readonly tables: () => readonly PeerTables[];
}

/** A named table never changes; the newest one is asked for again after every session. */
const CACHE = {
  named: "private, max-age=31536000, immutable",
  newest: "private, no-cache",
} as const;

/** GET /api/method/{version}: weights, thresholds and tables, for whoever may read factors. */
export function methodRouter({ context, gate, tables }: MethodOptions): Router {
  const memory = createAnswerMemory(context);
  const router = Router();
  router
    .route("/api/method/:version")
    .get(gate.enter, async (req, res) => {
      gate.requireScopes(callerOf(res), ["factor:read"]);
      const version = parse(MethodVersion, req.params.version);
      const query = parse(MethodQuery, single(queryOf(req)));
      const question = `${version} ${query.tables ?? ""}`;
      const answer = () => answerOf(methodAnswer(version, query, { context, tables: tables() }));
      const { json, etag } = memory.find(question) ?? (await memory.keep(question, answer));
      const cache = query.tables === undefined ? CACHE.newest : CACHE.named;
      sendValidated(req, res, { json, etag, cache });
    })
    .all(onlyMethods(["get"]));
  return router;
}

/** Members of a query; one that comes several times is a list, which no schema here takes. */
const single = (query: URLSearchParams) =>
  Object.fromEntries(
    [...new Set(query.keys())].map((name) => {
      const [value, ...more] = query.getAll(name);
      return [name, more.length === 0 ? value : [value, ...more]];
    }),
  );
