import { z } from "zod";

/** A JSON Schema, or a part of a schema. */
type Json = Readonly<Record<string, unknown>>;

/**
 * JSON Schema 2020-12 of a tool's input or output, kept short for language models: no `pattern` if
 * there is a `format`, and no bounds at the limits of safe integers. A `multipleOf` such as 0.1 is
 * omitted, because validators reject some of its multiples due to floating-point remainders.
 * Outputs allow unknown members, since members can be added within a version.
 */
export function jsonSchema(schema: z.ZodType, io: "input" | "output"): Record<string, unknown> {
  const { $schema: _, ...published } = z.toJSONSchema(schema, {
    io,
    override({ jsonSchema }) {
      shortenNumber(jsonSchema);
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
      if (io === "output" && jsonSchema.additionalProperties === false) {
        delete jsonSchema.additionalProperties;
      }
    },
  });
  return published;
}

function shortenNumber(schema: { minimum?: number; maximum?: number; multipleOf?: number }): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (!isExact(schema.multipleOf)) delete schema.multipleOf;
}

/** Whether the multiples of a step are exact in floating point, for example those of 0.25. */
const isExact = (step: number | undefined): boolean => Number.isInteger((step ?? 1) * 1024);

/**
 * Nesting depth of an outline: it shows the members of a result, but not the members of objects and
 * lists within it.
 */
const OUTLINE_DEPTH = 1;

/**
 * Member names and types of a JSON Schema, for tool lists that clients load in full. The outline
 * accepts everything that the schema accepts; alternative object types become one object type with
 * the members of all alternatives.
 */
export function schemaOutline(
  { type, properties, items, anyOf, additionalProperties }: Json,
  depth: number = OUTLINE_DEPTH,
  isShown = true,
): Json {
  if (Array.isArray(anyOf))
    return outlineOfOne(anyOf.map((one) => schemaOutline(one, depth, isShown)));
  const item = (schema: Json) => schemaOutline(schema, depth, depth > 0);
  const member = (schema: Json) => schemaOutline(schema, depth - 1, false);
  return {
    ...(type !== undefined && { type }),
    ...(isShown &&
      properties !== undefined && { properties: mapped(properties as Members, member) }),
    ...(items !== undefined && { items: item(items as Json) }),
    ...(hasMembers(additionalProperties) && { additionalProperties: item(additionalProperties) }),
  };
}

/** Whether a schema says anything; `{}` and `true` accept every value. */
const hasMembers = (schema: unknown): schema is Json =>
  typeof schema === "object" && schema !== null && Object.keys(schema).length > 0;

/** Schemas by member name. */
type Members = Readonly<Record<string, Json>>;

const mapped = (members: Members, change: (member: Json) => Json): Members =>
  Object.fromEntries(Object.entries(members).map(([name, member]) => [name, change(member)]));

/** A schema that accepts everything that any of the given schemas accepts. */
function outlineOfOne(schemas: readonly Json[]): Json {
  if (schemas.every(({ type }) => type === "object")) {
    return { type: "object", properties: schemas.reduce(withMembers, {}) };
  }
  const types = schemas.flatMap(({ type }) => type ?? []);
  const distinct = [...new Set(types)];
  const [detailed, ...others] = schemas.filter((schema) => Object.keys(schema).length > 1);
  // What is said of lists or objects restricts only these, so one such schema can be merged.
  const isMergeable =
    schemas.every(({ type }) => type !== undefined) &&
    (detailed === undefined || (others.length === 0 && distinct.length === types.length));
  if (!isMergeable) return { anyOf: schemas };
  return { ...detailed, type: distinct.length === 1 ? distinct[0] : distinct };
}

/**
 * Merges the members of two object types; a member with two different schemas accepts any value.
 */
function withMembers(before: Json, { properties = {} }: Json): Json {
  const added = Object.entries(properties as Members).map(([name, member]) => {
    const isSame = !(name in before) || JSON.stringify(before[name]) === JSON.stringify(member);
    return [name, isSame ? member : {}] as const;
  });
  return { ...before, ...Object.fromEntries(added) };
}
