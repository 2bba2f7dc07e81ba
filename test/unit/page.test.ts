import { describe, expect, it } from "vitest";
import { cutPage } from "../../src/page.ts";

const keyOf = (item: string) => item;
const list = ["a", "b", "c", "d", "e"];

describe("a page", () => {
  it("goes on after the last item seen, until there is none", () => {
    const first = cutPage(list, { limit: 2, cursor: undefined, keyOf });
    expect(first.items).toEqual(["a", "b"]);
    const second = cutPage(list, { limit: 2, cursor: first.nextCursor ?? "", keyOf });
    expect(second.items).toEqual(["c", "d"]);
    const last = cutPage(list, { limit: 2, cursor: second.nextCursor ?? "", keyOf });
    expect(last).toEqual({ items: ["e"], nextCursor: null });
  });

  it("stays right while the list grows at its front", () => {
    const { nextCursor } = cutPage(list, { limit: 2, cursor: undefined, keyOf });
    const grown = ["new", "newer", ...list];
    expect(cutPage(grown, { limit: 2, cursor: nextCursor ?? "", keyOf }).items).toEqual(["c", "d"]);
  });

  it("has no next page when it ends with the list", () => {
    expect(cutPage(list, { limit: 5, cursor: undefined, keyOf }).nextCursor).toBeNull();
    expect(cutPage([], { limit: 5, cursor: undefined, keyOf })).toEqual({
      items: [],
      nextCursor: null,
    });
  });

  it.each(["", "bm9uZQ", "%%%"])("refuses the cursor %j, which is not of this list", (cursor) => {
    expect(() => cutPage(list, { limit: 2, cursor, keyOf })).toThrow("invalid_request");
  });
});
