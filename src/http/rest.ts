import { type Request, type RequestHandler, Router } from "express";
import { z } from "zod";
import { tools } from "../../tools/index.ts";
import { calledFrom } from "../auth/auditor.ts";
import { Problem } from "../problem.ts";
import type { Route, Tool, ToolContext } from "../tool.ts";
import { callerOf, type Gate } from "./gate.ts";
import { idempotencyKeyOf } from "./idempotency-key.ts";
import { bodyOf, jsonBody } from "./json-body.ts";
import { onlyMethods } from "./methods.ts";
import { parse } from "./parse.ts";
import { queryOf } from "./query.ts";

/** A tool at one of its routes. */
interface Operation {
  readonly tool: Tool;
  readonly route: Route;
}

/** Members of a tool's input that are not checked yet. */
type Given = Readonly<Record<string, unknown>>;

/** Reads what a request says, of its path and besides. */
type Read = (req: Request) => Given;

/** How Express names each method. */
const VERBS = { GET: "get", POST: "post", PATCH: "patch", DELETE: "delete" } as const;

/** Offers every tool at its routes. */
export function restRouter(context: ToolContext, gate: Gate): Router {
  const router = Router();
  for (const [path, operations] of operationsByPath()) {
    const at = router.route(path.replace(/\{(\w+)\}/g, ":$1"));
    for (const operation of operations) {
      at[VERBS[operation.route.method]](gate.enter, ...handlers(operation, { context, gate }));
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
  readonly context: ToolContext;
  readonly gate: Gate;
}

function handlers(
  { tool, route }: Operation,
  { context, gate }: Surroundings,
): readonly RequestHandler[] {
  const hasBody = route.method === "POST" || route.method === "PATCH";
  const read: Read = hasBody ? bodyOf : queryReader(tool);
  return [
    (_req, res, next) => {
      gate.requireScopes(callerOf(res), [tool.scope]);
      next();
    },
    ...(hasBody ? jsonBody : []),
    async (req, res) => {
      const input = parse(tool.input, inputOf(req, route, read));
      const idempotencyKey = hasBody ? idempotencyKeyOf(req) : undefined;
      const call = { caller: callerOf(res), idempotencyKey };
      const answer = await calledFrom(req.ip, () => tool.run(input, context, call));
      if (route.status === 201) res.status(201).location(`${route.path}/${answer.id}`);
      res.json(answer);
    },
  ];
}

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

/**
 * Turns a query string into the input of a tool: numbers for number members, lists from commas or
 * repetition for list members, and text otherwise. What does not fit is left for the schema.
 */
function queryReader({ input }: Tool): Read {
  const { properties = {} } = z.toJSONSchema(input, { io: "input" });
  const typeOf = (name: string) => {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    return typeof property === "object" ? property.type : undefined;
  };
  const convert = (name: string, values: readonly string[]) => {
    const type = typeOf(name);
    if (type === "array") return values.flatMap((value) => value.split(","));
    if (values.length > 1) return values;
    const [value = ""] = values;
    const isNumber = type === "number" || type === "integer";
    return isNumber && value.trim() !== "" ? Number(value) : value;
  };
  return (req) => {
    const query = queryOf(req);
    const names = [...new Set(query.keys())];
    return Object.fromEntries(names.map((name) => [name, convert(name, query.getAll(name))]));
  };
}
