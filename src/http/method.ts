import { createHash } from "node:crypto";
import { type Request, type Response, Router } from "express";
import { MethodQuery, MethodVersion, methodAnswer } from "../answers/method.ts";
import { isKnown } from "../if-none-match.ts";
import type { PeerTables } from "../score/peers.ts";
import type { ToolContext } from "../tool.ts";
import { callerOf, type Gate } from "./gate.ts";
import { onlyMethods } from "./methods.ts";
import { parse } from "./parse.ts";
import { queryOf } from "./query.ts";

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

/** Where the answer to one caller is kept, it is kept for nobody else. */
const CREDENTIALS = "Authorization, X-Api-Key";

/** GET /api/method/{version}: weights, thresholds and tables, for whoever may read factors. */
export function methodRouter({ context, gate, tables }: MethodOptions): Router {
  const router = Router();
  router
    .route("/api/method/:version")
    .get(gate.enter, (req, res) => {
      gate.requireScopes(callerOf(res), ["factor:read"]);
      const version = parse(MethodVersion, req.params.version);
      const query = parse(MethodQuery, single(queryOf(req)));
      const answer = methodAnswer(version, query, { context, tables: tables() });
      send(req, res, {
        body: JSON.stringify(answer),
        cache: query.tables === undefined ? CACHE.newest : CACHE.named,
      });
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

/** Sends JSON under a strong validator (RFC 9110 section 8.8.3). */
function send(
  req: Request,
  res: Response,
  { body, cache }: { readonly body: string; readonly cache: string },
): void {
  const etag = `"${createHash("sha256").update(body).digest("base64url")}"`;
  res.set({ etag, "cache-control": cache, vary: CREDENTIALS });
  if (isKnown(req, etag)) res.status(304).end();
  else res.type("json").send(body);
}
