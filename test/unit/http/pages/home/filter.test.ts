import { describe, expect, it } from "vitest";
import {
  filterHref,
  MAX_SEARCH_LENGTH,
  parseFilter,
} from "../../../../../src/http/pages/home/filter.ts";

const asked = (query: string) => parseFilter(new URLSearchParams(query));

describe("the market filter in a URL", () => {
  it("selects everything when it is missing or its fields are empty", () => {
    for (const query of ["", "q=&class=&signal=&sort=&page=", "q=%20"]) {
      const { filter, errors } = asked(query);
      expect(errors).toEqual([]);
      expect(filterHref(filter), query).toBe("/");
    }
  });

  it("is parsed field by field", () => {
    const { filter } = asked(
      "q=%20alder&class=stock&sector=Health+Care&signal=LONG&coverage=full&sort=strength&page=3",
    );
    expect(filter).toEqual({
      q: "alder",
      class: "stock",
      sector: "Health Care",
      signal: "LONG",
      coverage: "full",
      sort: "strength",
      page: 3,
    });
  });

  it("ignores unknown fields", () => {
    expect(asked("utm_source=mail&__proto__=x&constructor=y").errors).toEqual([]);
  });

  it.each([
    ["class=bond", "class"],
    ["class=toString", "class"],
    ["signal=long", "signal"],
    ["sort=price", "sort"],
    ["coverage=most", "coverage"],
    [`sector=${"a".repeat(MAX_SEARCH_LENGTH + 1)}`, "sector"],
    [`q=${"a".repeat(MAX_SEARCH_LENGTH + 1)}`, "q"],
    ["page=0", "market"],
    ["page=-1", "market"],
    ["page=1.5", "market"],
    ["page=1e3", "market"],
    ["page=999999999999", "market"],
    ["page=x", "market"],
  ])("is rejected for %s, with an error for that field", (query, id) => {
    const { filter, errors } = asked(query);
    expect(errors).toEqual([{ id, text: expect.stringMatching(/\.$/) }]);
    expect(filter).toEqual({});
  });

  it("is rejected with all errors at once, and the search text shown again is truncated", () => {
    const { errors, search } = asked(`q=${"b".repeat(10_000)}&class=bond&page=0`);
    expect(errors.map(({ id }) => id)).toEqual(["q", "class", "market"]);
    expect(search).toHaveLength(2 * MAX_SEARCH_LENGTH);
  });

  it("is the same after it is written to a URL and parsed again", () => {
    const { filter } = asked("q=a%26b%3Dc+d&signal=WAIT&page=2");
    const address = filterHref(filter);
    expect(parseFilter(new URL(address, "http://localhost").searchParams).filter).toEqual(filter);
  });
});
