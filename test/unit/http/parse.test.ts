import { describe, expect, it } from "vitest";
import { z } from "zod";
import { parse } from "../../../src/http/parse.ts";
import { Problem } from "../../../src/problem.ts";

const Input = z.strictObject({
  symbol: z.string().regex(/^\w+$/, "Expected a ticker."),
  limit: z.number().max(5),
});

/** What is said of an input that is wrong. */
function saidOf(schema: z.ZodType, value: unknown): string {
  try {
    parse(schema, value);
  } catch (error) {
    if (error instanceof Problem) return error.message;
  }
  throw new Error("it was taken");
}

describe("a refusal of an input", () => {
  it("is in sentences: what is wrong, then what to do", () => {
    expect(saidOf(Input, { symbol: 3, limit: 1 })).toBe(
      "invalid_request: symbol: Invalid input: expected string, received number. Correct what is named and ask again.",
    );
  });

  it("has one full stop behind several faults, whoever worded them", () => {
    expect(saidOf(Input, { symbol: "!", limit: 6 })).toBe(
      "invalid_request: symbol: Expected a ticker; limit: Too big: expected number to be <=5. Correct what is named and ask again.",
    );
  });

  it("names five faults, and how many more there are", () => {
    const many = z.array(z.string());
    const said = saidOf(many, [1, 2, 3, 4, 5, 6, 7]);
    expect(said).toMatch(/; 4: Invalid input: [^;]*; and 2 more\. Correct/);
  });
});
