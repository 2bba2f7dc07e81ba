import { describe, expect, it } from "vitest";
import { withMinus } from "../../../../../src/http/pages/home/figure-text.js";
import {
  dateTime,
  fixed,
  percent,
  plain,
  points,
  price,
  shortUsd,
  toTheSecond,
  whole,
} from "../../../../../src/http/pages/home/number-format.ts";
import type { Html } from "../../../../../src/http/pages/html.ts";
import { textOf } from "../../../../support/web.ts";

/** What is shown, and the exact figure beside it. */
const read = (figure: Html) => {
  const [, exact] = /<data value="([^"]*)">/.exec(String(figure)) ?? [];
  return [textOf(String(figure).replace(/<\/?data[^>]*>/g, "")), exact];
};

describe("formatted text", () => {
  it("writes negative numbers with the minus sign U+2212, and preserves hyphens", () => {
    expect(withMinus("Off-exchange pressure (z -1.05), -$3, 2014-01-02.")).toBe(
      "Off-exchange pressure (z −1.05), −$3, 2014-01-02.",
    );
  });
});

describe("a formatted number", () => {
  it("has the exact value next to the rounded one", () => {
    expect(read(points(23.94810786621061))).toEqual(["+23.9", "23.94810786621061"]);
    expect(read(points(-7.25))).toEqual(["−7.3", "-7.25"]);
    expect(read(fixed(2)(-1.0049))).toEqual(["−1.00", "-1.0049"]);
    expect(read(percent(1)(0.6747173782212756))).toEqual(["67.5 %", "0.6747173782212756"]);
    expect(read(whole(821992))).toEqual(["821,992", "821992"]);
    expect(read(shortUsd(48_922_818.57))).toEqual(["$48.9M", "48922818.57"]);
    expect(read(plain(0.008168695986270177))).toEqual(["0.008169", "0.008168695986270177"]);
    expect(read(plain(123_456_789))).toEqual(["123.5M", "123456789"]);
  });

  it("has no sign when it rounds to zero", () => {
    expect(read(points(-0.04))).toEqual(["0.0", "-0.04"]);
    expect(read(points(0.04))).toEqual(["0.0", "0.04"]);
    expect(read(points(0))).toEqual(["0.0", "0"]);
  });

  it("is a dash when it is missing, never empty or 0", () => {
    for (const format of [points, fixed(2), percent(0), whole, shortUsd, plain]) {
      expect(read(format(null))).toEqual(["–", undefined]);
    }
    expect(textOf(String(dateTime(null)))).toBe("–");
  });

  it("is a price in its currency, however small", () => {
    expect(read(price(1234.5, "USD"))).toEqual(["$1,234.50", "1234.5"]);
    expect(read(price(0.000123456, "USD"))).toEqual(["$0.0001235", "0.000123456"]);
    expect(read(price(12, "EUR"))).toEqual(["€12.00", "12"]);
  });
});

describe("a formatted time", () => {
  it("is in UTC, and shows the minute, the second or only the date", () => {
    expect(String(dateTime("2026-11-21T05:00:30.000Z"))).toBe(
      '<time datetime="2026-11-21T05:00:30.000Z">21 Nov 2026, 05:00</time>',
    );
    expect(textOf(String(dateTime("2014-03-31")))).toBe("31 Mar 2014");
    expect(textOf(String(toTheSecond("2026-11-21T23:59:58.900Z")))).toBe("21 Nov 2026, 23:59:58");
  });
});
