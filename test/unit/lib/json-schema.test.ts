import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { jsonSchema, schemaOutline } from "../../../src/lib/json-schema.ts";
import { tools } from "../../../tools/index.ts";

const ajv = new Ajv2020({ strict: false, validateFormats: false });

const outlined = (schema: z.ZodType) => schemaOutline(jsonSchema(schema, "output"));

describe("the outline of a JSON Schema", () => {
  it("contains only the names and types of members", () => {
    const schema = z.object({
      at: z.string().meta({ format: "date-time" }).describe("When."),
      level: z.enum(["low", "high"]).nullable(),
      share: z.number().min(0).max(1).optional(),
      count: z.number().int().nullable().describe("How many."),
      inner: z.object({ is: z.literal(true) }).nullable(),
      list: z.array(z.object({ type: z.string(), properties: z.string() })),
      byName: z.record(z.string(), z.array(z.number())),
    });
    expect(outlined(schema)).toEqual({
      type: "object",
      properties: {
        at: { type: "string" },
        level: { type: ["string", "null"] },
        share: { type: "number" },
        count: { type: ["integer", "null"] },
        inner: { type: ["object", "null"] },
        list: { type: "array", items: { type: "object" } },
        byName: {
          type: "object",
          additionalProperties: { type: "array", items: { type: "number" } },
        },
      },
    });
  });

  it("lists the members of the top level, but not the members of nested objects", () => {
    const schema = z.object({
      one: z.object({ two: z.object({ three: z.string() }).nullable() }),
      list: z.array(z.object({ two: z.array(z.object({ three: z.string() })) })),
    });
    expect(outlined(schema)).toEqual({
      type: "object",
      properties: { one: { type: "object" }, list: { type: "array", items: { type: "object" } } },
    });
  });

  it("lists the members of all alternative objects, without a type where their types differ", () => {
    const schema = z.union([
      z.object({ a: z.string(), b: z.number() }),
      z.object({ a: z.string(), b: z.string(), c: z.boolean() }),
    ]);
    expect(outlined(schema)).toEqual({
      type: "object",
      properties: { a: { type: "string" }, b: {}, c: { type: "boolean" } },
    });
  });

  it("lists alternative types of a member as one schema, unless two are of the same type", () => {
    const inner = z.object({ a: z.string() });
    const schema = z.object({
      either: z.union([z.number().int().nullable(), inner]),
      same: z.union([z.array(z.string()), z.array(z.number()), z.null()]),
      one: z.union([z.enum(["a"]), z.string()]),
    });
    expect(outlined(schema).properties).toEqual({
      either: { type: ["integer", "null", "object"] },
      same: {
        anyOf: [
          { type: "array", items: { type: "string" } },
          { type: "array", items: { type: "number" } },
          { type: "null" },
        ],
      },
      one: { type: "string" },
    });
  });

  it("lists alternative types of a member", () => {
    const schema = z.object({ a: z.union([z.string(), z.number()]).nullable() });
    const validate = ajv.compile(outlined(schema));
    for (const a of ["x", 1, null]) expect(validate({ a }), String(a)).toBe(true);
    expect(validate({ a: [] })).toBe(false);
  });

  /** Values of several types, only some of which a schema accepts. */
  const values: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
    object: fc.object({ maxDepth: 2 }),
    null: fc.constant(null),
    number: fc.double({ noNaN: true }),
    string: fc.string(),
  };

  it("accepts every value that its schema accepts", () => {
    const shape = fc.constantFrom(
      z.string(),
      z.number().int().min(3).nullable(),
      z.enum(["a"]).nullable(),
      z.array(z.union([z.string(), z.object({ a: z.number() })])),
      z.union([z.object({ a: z.string() }), z.object({ a: z.number(), b: z.null() })]).nullable(),
      z.union([z.int().nullable(), z.array(z.string())]),
    );
    const samples = fc.oneof(
      ...Object.values(values),
      fc.constantFrom<unknown>("a", 4, ["x", { a: 1 }], { a: "x" }, { a: 1, b: null }),
    );
    const rule = fc.property(shape, samples, (schema, value) => {
      const isLetIn = ajv.compile(outlined(schema));
      fc.pre(schema.safeParse(value).success);
      expect(isLetIn(value)).toBe(true);
    });
    fc.assert(rule, { seed: 6, numRuns: 300 });
  });

  it("is an object with named members for the output of each tool", () => {
    for (const { name, output } of tools) {
      const { type, properties, ...rest } = schemaOutline({
        type: "object",
        ...jsonSchema(output, "output"),
      });
      expect(type, name).toBe("object");
      expect(Object.keys(properties as object).length, name).toBeGreaterThan(1);
      expect(rest, name).toEqual({});
    }
  });
});

describe("the JSON Schema of an integer", () => {
  it("omits bounds that are only the limits of safe integers", () => {
    expect(jsonSchema(z.number().int(), "output")).toEqual({ type: "integer" });
    expect(jsonSchema(z.number().int().min(1).max(9), "input")).toEqual({
      type: "integer",
      minimum: 1,
      maximum: 9,
    });
  });
});
