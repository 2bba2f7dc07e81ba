import { describe, expect, it } from "vitest";
import { withMinus } from "../../../../../src/http/pages/home/figure-text.js";
import {
  compactUsdHtml,
  dateTimeHtml,
  dateTimeSecondsHtml,
  fixedDecimalsHtml,
  inputHtml,
  percentHtml,
  pointsHtml,
  priceHtml,
  wholeNumberHtml,
} from "../../../../../src/http/pages/home/number-format.ts";
import type { Html } from "../../../../../src/markup/html.ts";
import { textOf } from "../../../../support/web.ts";

/** Returns the displayed text and the exact value of a figure. */
const read = (figure: Html) => {
  const [, exact] = /<data value="([^"]*)">/.exec(String(figure)) ?? [];
  return [textOf(String(figure).replace(/<\/?data[^>]*>/g, "")), exact];
};

describe("formatted text", () => {
  it("shows negative numbers with the minus sign U+2212, and keeps hyphens", () => {
    expect(withMinus("Off-exchange pressure (z -1.05), -$3, 2014-01-02.")).toBe(
      "Off-exchange pressure (z −1.05), −$3, 2014-01-02.",
    );
  });
});

describe("an input figure of a factor", () => {
  it.each([
    ["fraction", 0.06261, "6.261 %"],
    ["fraction per year", 0.1148, "11.48 % per year"],
    ["log return", Math.log(1.25), "+25.0 %"],
    ["USD", 80_400_000_000, "80.4B USD"],
    ["count", 231, "231"],
    ["price", 3.323, "3.323"],
    ["standard deviations", -0.02024, "−0.02024 standard deviations"],
  ])("in the unit %s is shown as people read it", (unit, value, text) => {
    expect(read(inputHtml(unit)(value))).toEqual([text, String(value)]);
  });
});

describe("a formatted number", () => {
  it("contains the exact value alongside the rounded value", () => {
    expect(read(pointsHtml(23.94810786621061))).toEqual(["+23.9", "23.94810786621061"]);
    expect(read(pointsHtml(-7.25))).toEqual(["−7.3", "-7.25"]);
    expect(read(fixedDecimalsHtml(2)(-1.0049))).toEqual(["−1.00", "-1.0049"]);
    expect(read(percentHtml(1)(0.6747173782212756))).toEqual(["67.5 %", "0.6747173782212756"]);
    expect(read(wholeNumberHtml(821992))).toEqual(["821,992", "821992"]);
    expect(read(compactUsdHtml(48_922_818.57))).toEqual(["$48.9M", "48922818.57"]);
    expect(read(inputHtml("count")(0.008168695986270177))).toEqual([
      "0.008169",
      "0.008168695986270177",
    ]);
    expect(read(inputHtml("count")(123_456_789))).toEqual(["123.5M", "123456789"]);
  });

  it("has no sign when it rounds to zero", () => {
    expect(read(pointsHtml(-0.04))).toEqual(["0.0", "-0.04"]);
    expect(read(pointsHtml(0.04))).toEqual(["0.0", "0.04"]);
    expect(read(pointsHtml(0))).toEqual(["0.0", "0"]);
  });

  it("is a dash when the value is missing, never empty or 0", () => {
    for (const format of [
      pointsHtml,
      fixedDecimalsHtml(2),
      percentHtml(0),
      wholeNumberHtml,
      compactUsdHtml,
      inputHtml("fraction"),
    ]) {
      expect(read(format(null))).toEqual(["–", undefined]);
    }
    expect(textOf(String(dateTimeHtml(null)))).toBe("–");
  });

  it("can be a price with its currency symbol, however small", () => {
    expect(read(priceHtml(1234.5, "USD"))).toEqual(["$1,234.50", "1234.5"]);
    expect(read(priceHtml(0.000123456, "USD"))).toEqual(["$0.0001235", "0.000123456"]);
    expect(read(priceHtml(12, "EUR"))).toEqual(["€12.00", "12"]);
  });
});

describe("a formatted time", () => {
  it("is in UTC with minutes, with seconds or only as a date", () => {
    expect(String(dateTimeHtml("2026-11-21T05:00:30.000Z"))).toBe(
      '<time datetime="2026-11-21T05:00:30.000Z">21 Nov 2026, 05:00</time>',
    );
    expect(textOf(String(dateTimeHtml("2014-03-31")))).toBe("31 Mar 2014");
    expect(textOf(String(dateTimeSecondsHtml("2026-11-21T23:59:58.900Z")))).toBe(
      "21 Nov 2026, 23:59:58",
    );
  });
});
