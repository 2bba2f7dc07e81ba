import { describe, expect, it } from "vitest";
import { z } from "zod";
import { parseInput } from "../../../src/http/api/parse.ts";
import { Problem } from "../../../src/lib/problem.ts";

const Input = z.strictObject({
  symbol: z.string().regex(/^\w+$/, "Expected a ticker."),
  limit: z.number().max(5),
});

const Full = Input.extend({
  kinds: z
    .array(z.enum(["a", "b"]))
    .min(1)
    .optional(),
  at: z.iso.datetime().optional(),
  delivery: z
    .discriminatedUnion("type", [
      z.strictObject({ type: z.literal("webhook"), url: z.string() }),
      z.strictObject({ type: z.literal("stream") }),
    ])
    .optional(),
});

/** Returns the error message for invalid input. */
function saidOf(schema: z.ZodType, value: unknown): string {
  try {
    parseInput(schema, value);
  } catch (error) {
    if (error instanceof Problem) return error.message;
  }
  throw new Error("it was taken");
}

describe("the error message for invalid input", () => {
  it("states the fault in one sentence and the remedy in the next", () => {
    expect(saidOf(Input, { symbol: 3, limit: 1 })).toBe(
      "invalid_request: symbol: must be a string. Correct the named members and send the request again.",
    );
  });

  it("ends a list of several faults with one period, whether the wording comes from the schema or the service", () => {
    expect(saidOf(Input, { symbol: "!", limit: 6 })).toBe(
      "invalid_request: symbol: Expected a ticker; limit: must be at most 5. Correct the named members and send the request again.",
    );
  });

  it.each([
    [{}, "symbol: is missing"],
    [{ symbol: "A", limit: "1" }, "limit: must be a number"],
    [{ symbol: "A", limit: 1, limt: 1 }, "limt is unknown: did you mean limit?"],
    [{ symbol: "A", limit: 1, sym: 1 }, "sym is unknown: did you mean symbol?"],
    [{ symbol: "A", limit: 1, url: "x" }, "url is unknown: did you mean delivery.url?"],
    [{ symbol: "A", limit: 1, zzz: 1 }, "zzz is unknown; known are symbol, limit, kinds, "],
    [{ symbol: "A", limit: 1, kinds: ["x"] }, "kinds.0: must be one of a, b"],
    [{ symbol: "A", limit: 1, kinds: [] }, "kinds: must have at least 1 entry"],
    [{ symbol: "A", limit: 1, at: "x" }, "at: must be an ISO 8601 instant such as"],
  ])("for the input %j contains %j, in the service's own wording", (value, words) => {
    const said = saidOf(Full, value);
    expect(said).toContain(words);
    expect(said).not.toMatch(/expected|received|Invalid|Unrecognized/);
  });

  it("lists at most five faults, and the number of further faults", () => {
    const many = z.array(z.string());
    const said = saidOf(many, [1, 2, 3, 4, 5, 6, 7]);
    expect(said).toMatch(/; 4: must be a string; and 2 more\. Correct/);
  });
});
