import { LRUCache } from "lru-cache";
import { z } from "zod";
import { tools } from "../../../tools/index.ts";
import { calledFrom } from "../../auth/auditor.ts";
import { Problem } from "../../problem.ts";
import type { Tool, Route as ToolRoute } from "../../tool.ts";
import type { ProtectedResource } from "../authorize.ts";
import { sendAnswer } from "../conditional-response.ts";
import { queryOf } from "../query.ts";
import type { RequestContext } from "../request-context.ts";
import type { Handler, Route } from "../route-table.ts";
import type { Answer, Answers } from "./answers.ts";
import { idempotencyKeyOf } from "./idempotency-key.ts";
import { asObject, type JsonObject, readJson } from "./json-body.ts";

/** Characters of the addresses that are remembered with the input that they mean. */
const MAX_CHARACTERS = 1_000_000;

/** Longest address that is remembered, in characters: one symbol or fifty, with every filter. */
const MAX_REMEMBERED_ADDRESS = 1_000;

/** An address counts as longer by this, in characters, for its input. */
const INPUT_CHARACTERS = 300;

/** The inputs of addresses, which agents ask for again and again. */
type KnownInputs = LRUCache<string, JsonObject>;

/** Offers every tool at its routes. */
export function restRoutes(answers: Answers, api: ProtectedResource): readonly Route[] {
  const known: KnownInputs = new LRUCache({
    maxSize: MAX_CHARACTERS,
    sizeCalculation: (_input, url) => url.length + INPUT_CHARACTERS,
  });
  return tools.flatMap((tool) => {
    const inQuery = queryReader(tool);
    const read = tool.isShared ? remembered(inQuery, known) : inQuery;
    return tool.routes.map((route) => {
      const { method, path } = route;
      const hasBody = method === "POST" || method === "PATCH";
      const operation = { tool, route, answers, api };
      const handle = hasBody ? withBody(operation) : withQuery(operation, read);
      return { method, path, handle };
    });
  });
}

/** A tool at one of its routes. */
interface Operation {
  readonly tool: Tool;
  readonly route: ToolRoute;
  readonly answers: Answers;
  readonly api: ProtectedResource;
}

/** Reads the input of a tool from the query of a request. */
type ReadQuery = (context: RequestContext) => JsonObject;

function withQuery({ tool, route, answers, api }: Operation, read: ReadQuery): Handler {
  return async (context) => {
    const caller = await api.authorize(context, tool.scopes);
    const input = inputOf(context, route, read(context));
    const call = { caller, idempotencyKey: undefined };
    const answer = await runFrom(context, tool, () => answers.of(tool, input, call));
    sendAnswer(context.req, context.res, answer);
  };
}

function withBody({ tool, route, answers, api }: Operation): Handler {
  return async (context) => {
    const { req, res } = context;
    const caller = await api.authorize(context, tool.scopes);
    const body = await readJson(context);
    await api.requireStillValid(context);
    const call = { caller, idempotencyKey: idempotencyKeyOf(req) };
    const input = inputOf(context, route, asObject(body));
    const answer = await runFrom(context, tool, () => answers.of(tool, input, call));
    if (route.status === 201) {
      res.statusCode = 201;
      res.setHeader("Location", locationOf(answer, route));
    }
    sendAnswer(req, res, answer);
  };
}

/** Runs a tool. The audit records the address of whoever changes something. */
function runFrom(
  { ip }: RequestContext,
  { effect }: Tool,
  run: () => Promise<Answer>,
): Promise<Answer> {
  return effect === undefined ? run() : calledFrom(ip, run);
}

/** Address of what was created. */
const locationOf = ({ value }: Answer, { path }: ToolRoute): string =>
  `${path}/${(value as { readonly id: string }).id}`;

/** @throws {Problem} `invalid_request` when the rest of a request contradicts its path. */
function inputOf({ params }: RequestContext, route: ToolRoute, given: JsonObject): JsonObject {
  const said: JsonObject = { ...route.with, ...params };
  const names = Object.keys(said);
  if (names.length === 0) return given;
  const contradicted = names.filter(
    (name) => Object.hasOwn(given, name) && given[name] !== said[name],
  );
  if (contradicted.length === 0) return { ...given, ...said };
  throw new Problem("invalid_request", {
    detail: `${contradicted.join(", ")}: the address says something else.`,
    next: "Leave it out.",
  });
}

/** Remembers the input of an address. It is frozen, so that `Answers` validates it once. */
function remembered(read: ReadQuery, known: KnownInputs): ReadQuery {
  return (context) => {
    const { url = "" } = context.req;
    const before = known.get(url);
    if (before !== undefined) return before;
    const input = Object.freeze(read(context));
    if (url.length <= MAX_REMEMBERED_ADDRESS) known.set(url, input);
    return input;
  };
}

/**
 * Turns a query string into the input of a tool: numbers for number members, lists from commas or
 * repetition for list members, and text otherwise. What does not fit is left for the schema.
 */
function queryReader({ input }: Tool): ReadQuery {
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
  return ({ req }) => {
    const query = queryOf(req);
    const names = [...new Set(query.keys())];
    return Object.fromEntries(names.map((name) => [name, convert(name, query.getAll(name))]));
  };
}
