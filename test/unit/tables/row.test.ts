import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  columnOf,
  columnsOf,
  membersOf,
  membersSchema,
  seriesSchema,
} from "../../../src/tables/row.ts";

interface Bird {
  readonly name: string;
  readonly grams: number | null;
}

const column = columnOf<Bird>();

const birdRow = {
  name: column(z.string(), ({ name }) => name),
  grams: column(z.number().nullable(), ({ grams }) => grams, {
    description: "Weight; null: not weighed.",
    round: Math.round,
  }),
  isHeavy: column(z.boolean(), ({ grams }) => grams !== null && grams > 100, {
    about: "Over 100 g.",
  }),
};

const BIRD = { full: ["grams", "name", "isHeavy"], brief: ["name", "grams"] } as const;

const wren: Bird = { name: "Wren", grams: 9.6 };

describe("a row", () => {
  it("is a table whose column types and descriptions follow from the columns", () => {
    expect(columnsOf(birdRow).map(({ name, type, about }) => [name, type, about])).toEqual([
      ["name", "text", undefined],
      ["grams", "number", "Weight; empty: not weighed."],
      ["isHeavy", "boolean", "Over 100 g."],
    ]);
    expect(columnsOf(birdRow, ["isHeavy", "name"]).map(({ cell }) => cell(wren))).toEqual([
      false,
      "Wren",
    ]);
  });

  it.each([
    [z.enum(["a", "b"]), "text"],
    [z.literal("a").nullable(), "text"],
    [z.int().min(0).nullable(), "integer"],
    [z.number().min(0), "number"],
    [z.string().meta({ format: "date-time" }).nullable(), "instant"],
    [z.string().meta({ format: "date-time" }).describe("When."), "instant"],
  ])("has the column type of a schema: %#", (schema, type) => {
    expect(column(schema as z.ZodType, () => null).type).toBe(type);
  });

  it("is the members of an answer at each level of detail, rounded in a brief one", () => {
    expect(JSON.stringify(membersOf(birdRow, BIRD.full, wren, "full"))).toBe(
      '{"grams":9.6,"name":"Wren","isHeavy":false}',
    );
    expect(JSON.stringify(membersOf(birdRow, BIRD.brief, wren, "brief"))).toBe(
      '{"name":"Wren","grams":10}',
    );
    expect(z.toJSONSchema(membersSchema(birdRow, BIRD))).toMatchObject({
      properties: {
        grams: { type: ["number", "null"], description: "Weight; null: not weighed." },
        name: { type: "string" },
        isHeavy: { type: "boolean" },
      },
      required: ["grams", "name"],
    });
  });

  it("is a list of values for each column, of which the list says what the column says", () => {
    expect(z.toJSONSchema(seriesSchema(birdRow, ["name", "grams"])).properties).toEqual({
      name: { type: "array", items: { type: "string" } },
      grams: {
        type: "array",
        items: { type: ["number", "null"] },
        description: "Weight; null: not weighed.",
      },
    });
  });
});
