import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { paginate, readablePage } from "../../../src/tool/pagination.ts";
import { tokensOf } from "../../support/tokens.ts";

const keyOf = (item: string) => item;
const list = ["a", "b", "c", "d", "e"];

describe("a page", () => {
  it("continues after the last item of the previous page, until the list ends", () => {
    const first = paginate(list, { list: "letters", limit: 2, cursor: undefined, keyOf });
    expect(first.items).toEqual(["a", "b"]);
    const second = paginate(list, {
      list: "letters",
      limit: 2,
      cursor: first.nextCursor ?? "",
      keyOf,
    });
    expect(second.items).toEqual(["c", "d"]);
    const last = paginate(list, {
      list: "letters",
      limit: 2,
      cursor: second.nextCursor ?? "",
      keyOf,
    });
    expect(last).toEqual({ items: ["e"], nextCursor: null });
  });

  it("neither repeats nor skips items while the list grows at its front", () => {
    const { nextCursor } = paginate(list, { list: "letters", limit: 2, cursor: undefined, keyOf });
    const grown = ["new", "newer", ...list];
    expect(
      paginate(grown, { list: "letters", limit: 2, cursor: nextCursor ?? "", keyOf }).items,
    ).toEqual(["c", "d"]);
  });

  it("has no next page when it ends with the list", () => {
    expect(
      paginate(list, { list: "letters", limit: 5, cursor: undefined, keyOf }).nextCursor,
    ).toBeNull();
    expect(paginate([], { list: "letters", limit: 5, cursor: undefined, keyOf })).toEqual({
      items: [],
      nextCursor: null,
    });
  });

  it("continues after an item that was removed from an ordered list", () => {
    const order = "ascending" as const;
    const { nextCursor } = paginate(list, { list: "letters", limit: 2, cursor: undefined, keyOf });
    const rest = { list: "letters", limit: 2, cursor: nextCursor ?? "", keyOf };
    const without = list.filter((letter) => letter !== "b");
    expect(paginate(without, { ...rest, order }).items).toEqual(["c", "d"]);
    expect(() => paginate(without, rest)).toThrow("invalid_request");
    const falling = [...without].reverse();
    expect(paginate(falling, { ...rest, order: "descending" }).items).toEqual(["a"]);
    expect(() => paginate(list, { ...rest, list: "others", order })).toThrow("invalid_request");
  });

  it.each(["", "bm9uZQ", "%%%"])(
    "is rejected with invalid_request for the invalid cursor %j",
    (cursor) => {
      expect(() => paginate(list, { list: "letters", limit: 2, cursor, keyOf })).toThrow(
        "invalid_request",
      );
    },
  );
});

describe("a page for a language model", () => {
  const pageOf = <T>(items: readonly T[], limit = 10_000) =>
    readablePage(items, {
      list: "texts",
      limit,
      cursor: undefined,
      keyOf: (item) => String(items.indexOf(item)),
      render: (item) => ({ item }),
    });

  it("stays under 10,000 tokens, whatever text the items contain", () => {
    const text = fc.oneof(
      fc.string({ minLength: 100, maxLength: 400 }),
      fc.string({ minLength: 100, maxLength: 400, unit: "binary" }),
      fc.base64String({ minLength: 100, maxLength: 400 }),
      fc.array(fc.double(), { maxLength: 30 }).map(String),
    );
    const property = fc.property(fc.array(text, { minLength: 200, maxLength: 200 }), (texts) => {
      const { items, nextCursor } = pageOf(texts);
      expect(tokensOf(items)).toBeLessThan(10_000);
      expect(nextCursor).not.toBeNull();
      expect(items.length).toBeGreaterThan(5);
    });
    fc.assert(property, { seed: 4, numRuns: 20 });
  });

  it("fills at least two fifths of the 10,000-token limit when the items are rows of figures", () => {
    const rows = Array.from({ length: 2_000 }, (_, index) => ({
      ...{ symbol: `SYM${index}`, name: "Example Company Inc.", signal: "LONG" },
      ...{ score: index % 100, confidence: 0.6813, coverage: 0.82, status: "partial" },
    }));
    expect(tokensOf(pageOf(rows).items)).toBeGreaterThan(4_000);
  });

  it("contains an item that alone exceeds the token limit, and never contains more items than requested", () => {
    expect(pageOf(["long ".repeat(50_000), "short"]).items).toHaveLength(1);
    expect(pageOf(["a", "b", "c"], 2).items).toEqual([{ item: "a" }, { item: "b" }]);
    expect(pageOf(["a", "b", "c"], 0)).toEqual({ items: [], nextCursor: null });
  });
});
