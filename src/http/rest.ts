import { Router } from "express";
import { z } from "zod";
import { tools } from "../../tools/index.ts";
import type { Tool, ToolContext } from "../tool.ts";
import { callerOf, type Gate } from "./gate.ts";
import { onlyMethods } from "./methods.ts";
import { parse } from "./parse.ts";
import { queryOf } from "./query.ts";

/** Offers every tool at its routes. */
export function restRouter(context: ToolContext, gate: Gate): Router {
  const router = Router();
  for (const tool of tools) {
    const readQuery = queryReader(tool);
    for (const { path } of tool.routes) {
      router
        .route(path)
        .get(gate.enter, (req, res) => {
          gate.requireScopes(callerOf(res), [tool.scope]);
          res.json(tool.run(parse(tool.input, readQuery(queryOf(req))), context));
        })
        .all(onlyMethods(["get"]));
    }
  }
  return router;
}

/**
 * Turns a query string into the input of a tool: numbers for number members, lists from commas or
 * repetition for list members, and text otherwise. What does not fit is left for the schema.
 */
function queryReader({ input }: Tool): (query: URLSearchParams) => Record<string, unknown> {
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
  return (query) =>
    Object.fromEntries(
      [...new Set(query.keys())].map((name) => [name, convert(name, query.getAll(name))]),
    );
}
