import { describe, expect, it } from "vitest";
import {
  createVolatilityReader,
  createVolatilityTracker,
} from "../../../src/factors/volatility.ts";
import { DAY_MS } from "../../../src/lib/day.ts";
import type { Bar } from "../../../src/market/records.ts";
import { referenceBars } from "./reference.ts";

const bars = referenceBars(600);

/** Returns the reading after `count` bars, computed bar by bar. */
function readingAfter(count: number) {
  const volatility = createVolatilityTracker();
  return bars
    .slice(0, count)
    .map((bar) => volatility.add(bar))
    .at(-1);
}

describe("the volatility of a list of bars", () => {
  it("is identical to the last bit whether it is computed from the whole list or bar by bar", () => {
    for (const count of [1, 2, 251, 252, 253, 600]) {
      expect(createVolatilityTracker().add(...bars.slice(0, count))).toEqual(readingAfter(count));
    }
    expect(createVolatilityTracker().add()).toBeUndefined();
  });

  it("is the volatility at the newest bar known at the requested instant, in whatever order instants are requested", () => {
    const read = createVolatilityReader();
    for (const count of [300, 300, 301, 450, 10, 449, 450, 600]) {
      expect(read(bars, count * DAY_MS)).toEqual(readingAfter(count));
      expect(read(bars, (count + 1) * DAY_MS - 1)).toEqual(readingAfter(count));
    }
    expect(read(bars, 0)).toBeUndefined();
  });

  it("continues when the list grows, and restarts for another list", () => {
    const read = createVolatilityReader();
    const growing: Bar[] = bars.slice(0, 300);
    expect(read(growing, Number.POSITIVE_INFINITY)).toEqual(readingAfter(300));
    growing.push(...bars.slice(300, 400));
    expect(read(growing, Number.POSITIVE_INFINITY)).toEqual(readingAfter(400));
    expect(read(bars.slice(0, 20), Number.POSITIVE_INFINITY)).toEqual(readingAfter(20));
  });
});
