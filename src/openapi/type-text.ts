import type { JsonObject } from "./components.ts";

/** The type that a JSON Schema describes, as short text. */
export function typeText(schema: JsonObject): string {
  const { $ref, items, properties } = schema;
  const several = schema.anyOf ?? schema.oneOf;
  if (typeof $ref === "string") return $ref.split("/").at(-1) ?? $ref;
  if (Array.isArray(several)) return alternatives(several.map(typeText));
  if (items !== undefined) return `list of ${typeText(items as JsonObject)}`;
  if (schema.type === "null") return "null";
  if (properties !== undefined) return `{${Object.keys(properties as JsonObject).join(", ")}}`;
  return simpleTypeText(schema);
}

function simpleTypeText({ type, format, const: only, enum: values = [only] }: JsonObject): string {
  const known = (values as readonly unknown[]).filter((value) => value !== undefined);
  if (known.length > 0) return known.join("|");
  return alternatives([format ?? type ?? "anything"].flat() as string[]);
}

/** Alternative types of a value, as text; a question mark stands for `null`. */
function alternatives(types: readonly string[]): string {
  const others = types.filter((type) => type !== "null").join(" or ");
  return types.includes("null") ? `${others}?` : others;
}
