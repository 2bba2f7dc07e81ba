import { z } from "zod";
import type { Tool } from "../../tool.ts";

/** Members of a tool's input that are not checked yet. */
export type Given = Readonly<Record<string, unknown>>;

/**
 * Turns a query string into the input of a tool: numbers for number members, lists from commas or
 * repetition for list members, and text otherwise. What does not fit is left for the schema.
 */
export function queryReader({ input }: Tool): (query: URLSearchParams) => Given {
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
  return (query) => {
    const names = [...new Set(query.keys())];
    return Object.fromEntries(names.map((name) => [name, convert(name, query.getAll(name))]));
  };
}
