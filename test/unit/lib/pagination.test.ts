import { describe, expect, it } from "vitest";
import { paginate } from "../../../src/lib/pagination.ts";

const keyOf = (item: string) => item;
const list = ["a", "b", "c", "d", "e"];

describe("a page", () => {
  it("continues after the last item seen, to the end of the list", () => {
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

  it.each(["", "bm9uZQ", "%%%"])("refuses the cursor %j of another list", (cursor) => {
    expect(() => paginate(list, { list: "letters", limit: 2, cursor, keyOf })).toThrow(
      "invalid_request",
    );
  });
});
