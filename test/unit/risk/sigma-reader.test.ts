import { expect, it } from "vitest";
import { DAY_MS } from "../../../src/lib/day.ts";
import type { Bar } from "../../../src/market/records.ts";
import { forecastSigmaAt } from "../../../src/risk/outlook.ts";
import { createSigmaReader } from "../../../src/risk/sigma-reader.ts";
import { madeBars } from "./bars.ts";

const COUNT = 1_100;

/** A bar whose variance is not a finite number. */
const broken = (bar: Bar): Bar => ({ ...bar, high: 0, low: 0 });

it.each([
  ["stock", []],
  ["crypto", []],
  ["stock", [100, 400, 401, 900]],
  ["crypto", Array.from({ length: 60 }, (_, at) => 300 + 3 * at)],
] as const)(
  "the reader returns the correct sigma of the asset class %s at every close when the bars %j are faulty",
  (assetClass, bad) => {
    const days: ReadonlySet<number> = new Set(bad);
    const bars = madeBars(COUNT).map((bar, day) => (days.has(day) ? broken(bar) : bar));
    const read = createSigmaReader();
    let found = 0;
    for (let day = 0; day < COUNT; day++) {
      const sigma = read(bars, assetClass, day * DAY_MS);
      expect(sigma, `day ${day}`).toBe(forecastSigmaAt(bars, assetClass, day * DAY_MS));
      if (sigma !== undefined) found += 1;
    }
    expect(found).toBeGreaterThan(COUNT / 2);
  },
);

it("the reader returns the correct sigma after a gap of any length, and for an earlier day", () => {
  const bars = madeBars(COUNT);
  const read = createSigmaReader();
  for (const day of [300, 301, 305, 600, 400, 401, 1_099, 20]) {
    expect(read(bars, "stock", day * DAY_MS)).toBe(forecastSigmaAt(bars, "stock", day * DAY_MS));
  }
});
