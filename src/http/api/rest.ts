import { type Request, type RequestHandler, Router } from "express";
import { tools } from "../../../tools/index.ts";
import { calledFrom } from "../../auth/auditor.ts";
import { Problem } from "../../problem.ts";
import type { Call, Route, Tool } from "../../tool.ts";
import { onlyMethods } from "../allowed-methods.ts";
import { callerOf, type Gate } from "../authorize.ts";
import { sendAnswer } from "../conditional-response.ts";
import { queryOf } from "../query.ts";
import type { Answer, Answers } from "./answers.ts";
import { idempotencyKeyOf } from "./idempotency-key.ts";
import { bodyOf, jsonBody } from "./json-body.ts";
import { type Given, queryReader } from "./query-input.ts";

/** A tool at one of its routes. */
interface Operation {
  readonly tool: Tool;
  readonly route: Route;
}

/** Reads what a request says, of its path and besides. */
type Read = (req: Request) => Given;

/** How Express names each method. */
const VERBS = { GET: "get", POST: "post", PATCH: "patch", DELETE: "delete" } as const;

/** Offers every tool at its routes. */
export function restRouter(answers: Answers, gate: Gate): Router {
  const router = Router();
  for (const [path, operations] of operationsByPath()) {
    const at = router.route(path.replace(/\{(\w+)\}/g, ":$1"));
    for (const operation of operations) {
      at[VERBS[operation.route.method]](gate.enter, ...handlers(operation, { answers, gate }));
    }
    at.all(onlyMethods(operations.map(({ route }) => VERBS[route.method])));
  }
  return router;
}

/** Paths with fewer members in them come first: `/alerts/events` is no alert. */
function operationsByPath(): readonly (readonly [string, readonly Operation[]])[] {
  const operations = tools.flatMap((tool) => tool.routes.map((route) => ({ tool, route })));
  const byPath = Object.groupBy(operations, ({ route }) => route.path);
  return Object.entries(byPath)
    .map(([path, some = []]) => [path, some] as const)
    .toSorted(([a], [b]) => a.split("{").length - b.split("{").length);
}

interface Surroundings {
  readonly answers: Answers;
  readonly gate: Gate;
}

function handlers(
  { tool, route }: Operation,
  { answers, gate }: Surroundings,
): readonly RequestHandler[] {
  const hasBody = route.method === "POST" || route.method === "PATCH";
  const inQuery = queryReader(tool);
  const read: Read = hasBody ? bodyOf : (req) => inQuery(queryOf(req));
  const answerTo = (req: Request, call: Call) => answers.of(tool, inputOf(req, route, read), call);
  return [
    (_req, res, next) => {
      gate.requireScopes(callerOf(res), tool.scopes);
      next();
    },
    ...(hasBody ? [...jsonBody, gate.stillIn] : []),
    async (req, res) => {
      const idempotencyKey = hasBody ? idempotencyKeyOf(req) : undefined;
      const call = { caller: callerOf(res), idempotencyKey };
      // Who only reads leaves no trace that would say from where.
      const answering = tool.effect
        ? calledFrom(req.ip, () => answerTo(req, call))
        : answerTo(req, call);
      const answer = await answering;
      if (route.status === 201) res.status(201).location(placeOf(answer, route));
      sendAnswer(req, res, answer);
    },
  ];
}

/** Where what was made is found. */
const placeOf = ({ value }: Answer, { path }: Route): string =>
  `${path}/${(value as { readonly id: string }).id}`;

/** @throws {Problem} `invalid_request` when the rest of a request contradicts its address. */
function inputOf(req: Request, route: Route, read: Read): Given {
  const said: Given = { ...route.with, ...req.params };
  const given = read(req);
  const contradicted = Object.keys(said).filter(
    (name) => Object.hasOwn(given, name) && given[name] !== said[name],
  );
  if (contradicted.length === 0) return { ...given, ...said };
  throw new Problem("invalid_request", {
    detail: `${contradicted.join(", ")}: the address says something else.`,
    next: "Leave it out.",
  });
}
