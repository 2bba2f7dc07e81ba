import { describe, expect, it } from "vitest";
import { cutPage } from "../../../src/lib/pagination.ts";

const keyOf = (item: string) => item;
const list = ["a", "b", "c", "d", "e"];

describe("a page", () => {
  it("goes on after the last item seen, until there is none", () => {
    const first = cutPage(list, { list: "letters", limit: 2, cursor: undefined, keyOf });
    expect(first.items).toEqual(["a", "b"]);
    const second = cutPage(list, {
      list: "letters",
      limit: 2,
      cursor: first.nextCursor ?? "",
      keyOf,
    });
    expect(second.items).toEqual(["c", "d"]);
    const last = cutPage(list, {
      list: "letters",
      limit: 2,
      cursor: second.nextCursor ?? "",
      keyOf,
    });
    expect(last).toEqual({ items: ["e"], nextCursor: null });
  });

  it("stays right while the list grows at its front", () => {
    const { nextCursor } = cutPage(list, { list: "letters", limit: 2, cursor: undefined, keyOf });
    const grown = ["new", "newer", ...list];
    expect(
      cutPage(grown, { list: "letters", limit: 2, cursor: nextCursor ?? "", keyOf }).items,
    ).toEqual(["c", "d"]);
  });

  it("has no next page when it ends with the list", () => {
    expect(
      cutPage(list, { list: "letters", limit: 5, cursor: undefined, keyOf }).nextCursor,
    ).toBeNull();
    expect(cutPage([], { list: "letters", limit: 5, cursor: undefined, keyOf })).toEqual({
      items: [],
      nextCursor: null,
    });
  });

  it("goes on behind an item that has left an ordered list", () => {
    const order = "ascending" as const;
    const { nextCursor } = cutPage(list, { list: "letters", limit: 2, cursor: undefined, keyOf });
    const rest = { list: "letters", limit: 2, cursor: nextCursor ?? "", keyOf };
    const without = list.filter((letter) => letter !== "b");
    expect(cutPage(without, { ...rest, order }).items).toEqual(["c", "d"]);
    expect(() => cutPage(without, rest)).toThrow("invalid_request");
    const falling = [...without].reverse();
    expect(cutPage(falling, { ...rest, order: "descending" }).items).toEqual(["a"]);
    expect(() => cutPage(list, { ...rest, list: "others", order })).toThrow("invalid_request");
  });

  it.each(["", "bm9uZQ", "%%%"])("refuses the cursor %j, which is not of this list", (cursor) => {
    expect(() => cutPage(list, { list: "letters", limit: 2, cursor, keyOf })).toThrow(
      "invalid_request",
    );
  });
});
