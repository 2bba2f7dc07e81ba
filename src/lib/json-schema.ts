import { z } from "zod";

/** A JSON Schema, or a part of one. */
type Json = Readonly<Record<string, unknown>>;

/**
 * JSON Schema 2020-12 of a tool's input or output, made to be read by a model: the format of an
 * instant says enough without its pattern, whole numbers need no bounds that no number has, and a step
 * such as 0.1 would make validators refuse multiples of it that leave a remainder in floating point.
 * Outputs may gain members within a version, so theirs does not forbid unknown ones.
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

/** Whether all multiples of a step in use are exact in floating point, as those of 0.25 are. */
const isExact = (step: number | undefined): boolean => Number.isInteger((step ?? 1) * 1024);

/**
 * What a JSON Schema says of names and types, for lists in which every word costs its reader. Whatever
 * is valid stays so; where several objects are possible, a member of one of them may be in all.
 */
export function outline({ type, properties, items, anyOf, additionalProperties }: Json): Json {
  if (Array.isArray(anyOf)) return outlineOfOne(anyOf.map(outline));
  return {
    ...(type !== undefined && { type }),
    ...(properties !== undefined && { properties: mapped(properties as Members, outline) }),
    ...(items !== undefined && { items: outline(items as Json) }),
    ...(typeof additionalProperties === "object" && {
      additionalProperties: outline(additionalProperties as Json),
    }),
  };
}

/** Schemas by the name of the member. */
type Members = Readonly<Record<string, Json>>;

const mapped = (members: Members, change: (member: Json) => Json): Members =>
  Object.fromEntries(Object.entries(members).map(([name, member]) => [name, change(member)]));

/** One schema for what is valid by one of several. */
function outlineOfOne(schemas: readonly Json[]): Json {
  if (schemas.every(({ type }) => type === "object")) {
    return { type: "object", properties: schemas.reduce(withMembers, {}) };
  }
  const [only, ...others] = schemas.filter(({ type }) => type !== "null");
  const isNullable = typeof only?.type === "string" && others.length === 0;
  return isNullable ? { ...only, type: [only.type, "null"] } : { anyOf: schemas };
}

/** Members of several objects together; what two of them say differently may be anything. */
function withMembers(before: Json, { properties = {} }: Json): Json {
  const added = Object.entries(properties as Members).map(([name, member]) => {
    const isSame = !(name in before) || JSON.stringify(before[name]) === JSON.stringify(member);
    return [name, isSame ? member : {}] as const;
  });
  return { ...before, ...Object.fromEntries(added) };
}
