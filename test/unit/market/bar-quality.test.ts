import { describe, expect, it } from "vitest";
import { DAY_MS } from "../../../src/lib/day.ts";
import { BarFilter, impossibilityReason } from "../../../src/market/bar-quality.ts";
import type { ReportedBar } from "../../../src/market/records.ts";
import { readMarketFolder } from "../../../src/sources/files/market-folder.ts";
import { sharedFolder } from "../../support/shared.ts";

const real = sharedFolder("market", "doubts about genuine bars");

const T = Date.UTC(2020, 0, 6);

/** A bar with a narrow range around a price. `other` replaces members. */
function bar(day: number, price: number, other: Partial<ReportedBar> = {}): ReportedBar {
  return {
    session: new Date(T + day * DAY_MS).toISOString().slice(0, 10),
    availableAt: T + (day + 1) * DAY_MS,
    open: price,
    high: price * 1.01,
    low: price * 0.99,
    close: price * 1.001,
    volume: 1_000 + day,
    dividend: 0,
    split: 1,
    ...other,
  };
}

/**
 * Returns the accepted bars and the flagged faults when `bars` follow thirty ordinary bars at 100.
 */
function outcome(...bars: readonly ReportedBar[]) {
  const filter = new BarFilter();
  for (let day = -30; day < 0; day++) filter.add(bar(day, 100));
  const accepted = bars.map((one) => filter.add(one));
  return {
    accepted: accepted.map((some) => some.map(({ close }) => Math.round(close))),
    last: accepted.flat().at(-1),
    bars: accepted.flat(),
    doubts: [...filter.doubts].map(
      ({ fault, outcome }) => `${fault} ${outcome?.verdict ?? "held"}`,
    ),
    detail: filter.doubts.at(0)?.detail,
  };
}

describe("an impossible bar", () => {
  it.each([
    ["the price 0 is not above 0", { low: 0 }],
    ["the price -1 is not above 0", { close: -1, low: -1 }],
    ["the price NaN is not above 0", { open: Number.NaN }],
    ["the price Infinity is not above 0", { high: Number.POSITIVE_INFINITY }],
    ["the high 99 is under the low 101", { high: 99, low: 101 }],
    ["the open 98 is not between 99 and 101", { open: 98 }],
    ["the close 102 is not between 99 and 101", { close: 102 }],
    ["the volume -1 is not at least 0", { volume: -1 }],
    ["the volume NaN is not at least 0", { volume: Number.NaN }],
  ])("is held back, reported with the reason %j, and later dropped", (detail, wrong) => {
    const one = bar(0, 100, { high: 101, low: 99, close: 100, ...wrong });
    expect(impossibilityReason(one)).toBe(detail);
    expect(outcome(one)).toMatchObject({ accepted: [[]], doubts: ["impossible held"], detail });
    const settled = outcome(one, bar(1, 101));
    expect(settled).toMatchObject({ accepted: [[], [101]], doubts: ["impossible dropped"] });
  });

  it("is also detected when it is the first bar", () => {
    const filter = new BarFilter();
    expect(filter.add(bar(0, 100, { low: 0 }))).toEqual([]);
    expect(filter.add(bar(1, 100))).toHaveLength(1);
  });
});

describe("a price jump", () => {
  it("is dropped when the next bar opens at the price before the jump", () => {
    const settled = outcome(bar(0, 900), bar(1, 102));
    expect(settled).toMatchObject({ accepted: [[], [102]], doubts: ["jump dropped"] });
    expect(settled.detail).toBe(
      "the close 900.9 is too far from the close 100.1 before it, and no split explains it",
    );
  });

  it("is confirmed when the next bar opens at the price after the jump, and becomes known at that time", () => {
    const crash = bar(0, 30, { open: 34, high: 36, low: 27, volume: 40_000 });
    const settled = outcome(crash, bar(1, 29));
    expect(settled).toMatchObject({ accepted: [[], [30, 29]], doubts: ["jump confirmed"] });
    expect(settled.bars[0]).toEqual({ ...crash, availableAt: bar(1, 29).availableAt });
  });

  it("is confirmed by the open of the next bar even if that bar then recovers by half", () => {
    const crash = bar(0, 30, { open: 34, high: 36, low: 27, volume: 40_000 });
    const rebound = bar(1, 60, { open: 33, low: 31, volume: 40_000 });
    expect(outcome(crash, rebound)).toMatchObject({ accepted: [[], [30, 60]] });
  });

  it("is accepted when splits and dividends explain it", () => {
    expect(outcome(bar(0, 25, { split: 4 })).doubts).toEqual([]);
    expect(outcome(bar(0, 20, { dividend: 80 })).doubts).toEqual([]);
  });

  it("is accepted up to a factor of 2.2, and beyond for instruments with a wide daily range", () => {
    const fall = { open: 80, high: 81, volume: 9_000 };
    expect(outcome(bar(0, 46, fall)).doubts).toEqual([]);
    const filter = new BarFilter();
    for (let day = -30; day < 0; day++) filter.add(bar(day, 100, { high: 112, low: 94 }));
    expect(filter.add(bar(0, 280, { open: 110, low: 99 }))).toHaveLength(1);
  });

  it("is judged by the bar after next when the next bar is also suspect", () => {
    const settled = outcome(bar(0, 900), bar(1, 0.6), bar(2, 101));
    expect(settled).toMatchObject({
      accepted: [[], [], [101]],
      doubts: ["jump dropped", "jump dropped"],
    });
  });
});

describe("a price spike", () => {
  it("is dropped with its bar, unless the next bar opens near the extreme price", () => {
    expect(outcome(bar(0, 100, { high: 1e8 }), bar(1, 101)).doubts).toEqual(["spike dropped"]);
    expect(outcome(bar(0, 100, { low: 1e-4 }), bar(1, 101)).doubts).toEqual(["spike dropped"]);
    expect(outcome(bar(0, 100, { high: 500 }), bar(1, 450)).doubts).toEqual([
      "spike confirmed",
      "jump held",
    ]);
  });

  it("is accepted up to a factor of 3, as in a flash crash", () => {
    expect(outcome(bar(0, 100, { low: 40 })).doubts).toEqual([]);
  });
});

describe("a bar that repeats the previous bar", () => {
  it("is dropped, however often it is repeated", () => {
    const [first, again, third] = [bar(0, 101), bar(1, 101), bar(2, 101)];
    const volume = first.volume;
    const settled = outcome(first, { ...again, volume }, { ...third, volume }, bar(3, 102));
    expect(settled.accepted).toEqual([[101], [], [], [102]]);
    expect(settled.doubts).toEqual(["repeat dropped", "repeat dropped"]);
  });

  it("is accepted if the volume differs or nothing was traded", () => {
    expect(outcome(bar(0, 101), bar(1, 101)).doubts).toEqual([]);
    const still = { high: 100, low: 100, open: 100, close: 100, volume: 0 };
    expect(outcome(bar(0, 100, still), bar(1, 100, still)).doubts).toEqual([]);
  });
});

describe("an unannounced split", () => {
  it.each([1.5, 2, 3, 4, 7, 10, 20, 0.5, 0.1])(
    "of %d new shares per old share is inserted",
    (ratio) => {
      const settled = outcome(bar(0, 100 / ratio), bar(1, 101 / ratio));
      expect(settled.doubts).toEqual(["split adjusted"]);
      expect(settled.bars.map(({ split }) => split)).toEqual([ratio, 1]);
    },
  );

  it("is not inserted when the jump is reversed, even if a split is announced a session later", () => {
    expect(outcome(bar(0, 25), bar(1, 100)).doubts).toEqual(["split dropped"]);
    const late = outcome(bar(0, 25), bar(1, 100, { split: 1 }), bar(2, 25, { split: 4 }));
    expect(late.doubts).toEqual(["split dropped"]);
  });

  it("is not inferred from a fall by half with a wide range or a very high volume", () => {
    expect(outcome(bar(0, 50, { volume: 9_000 })).doubts).toEqual([]);
    expect(outcome(bar(0, 50, { high: 56, low: 46 })).doubts).toEqual([]);
  });
});

it("the split and dividend of a dropped bar are carried over to the next bar", () => {
  const settled = outcome(
    bar(0, 25, { split: 4, dividend: 1, high: 1e8 }),
    bar(1, 12.5, { split: 2, dividend: 0.25 }),
  );
  expect(settled.doubts).toEqual(["spike dropped"]);
  expect(settled.last).toMatchObject({ split: 8, dividend: 0.75 });
});

describe.skipIf(real.isMissing)(
  "genuine historical bars",
  { tags: ["nightly"], timeout: 60_000 },
  () => {
    it("are flagged as suspect at most once in 100,000, and each flagged bar is printed", async () => {
      const market = await readMarketFolder(real.path);
      const records = market.recordsUntil(Number.MAX_SAFE_INTEGER);
      const doubts = records.flatMap(({ instrument: { symbol }, doubtedBars = [] }) =>
        [...doubtedBars].map(
          ({ session, fault, detail, outcome }) =>
            `${symbol} ${session} ${fault} ${outcome?.verdict}: ${detail}`,
        ),
      );
      const dropped = doubts.filter((line) => line.includes(" dropped: ")).length;
      const bars = records.reduce((sum, one) => sum + one.bars.length, dropped);
      process.stdout.write(`\n${doubts.length} of ${bars} bars doubted:\n${doubts.join("\n")}\n`);
      expect(bars).toBeGreaterThan(1_000_000);
      expect(doubts.length / bars).toBeLessThanOrEqual(1e-5);
      const inCrash = doubts.filter((line) => / 2020-03-/.test(line));
      expect(inCrash).toEqual([]);
    });
  },
);
