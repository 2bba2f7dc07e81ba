import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DAY_MS } from "../../../src/lib/day.ts";
import {
  axisAround,
  axisTicks,
  nameAxis,
  numberAxis,
  numberPlace,
  roundedAxisAround,
  tickDecimals,
  timeAxis,
} from "../../../src/markup/plot-axis.ts";

/** The texts of the labels of an axis, those that a narrow figure omits in brackets. */
const textsOf = ({ labels }: ReturnType<typeof timeAxis>) =>
  labels.map(({ text, isMinor }) => (isMinor ? `(${text})` : text));

/** The weekdays from a date on. */
const weekdays = (from: string, count: number): readonly number[] =>
  Array.from({ length: count }, (_, day) => Date.parse(from) + day * DAY_MS).filter(
    (at) => new Date(at).getUTCDay() % 6 !== 0,
  );

/** Two to five values whose differences are not lost in their digits. */
const someValues = fc.array(
  fc
    .tuple(fc.integer({ min: -9_999, max: 9_999 }), fc.integer({ min: -6, max: 6 }))
    .map(([digits, exponent]) => digits * 10 ** exponent),
  { minLength: 2, maxLength: 5 },
);

describe("a value axis", () => {
  it("has two to seven ticks, equally spaced by 1, 2 or 5 times a power of ten, inside its ends", () => {
    fc.assert(
      fc.property(someValues, (values) => {
        const axis = axisAround(values);
        const ticks = axisTicks(axis);
        expect(ticks.length).toBeGreaterThanOrEqual(2);
        expect(ticks.length).toBeLessThanOrEqual(7);
        const [first = 0, second = 0] = ticks;
        const step = second - first;
        expect(step.toExponential(6)).toMatch(/^[125]\.000000e/);
        const slack = 1e-6 * step;
        for (const [index, tick] of ticks.entries()) {
          expect(Math.abs(tick - first - index * step)).toBeLessThan(slack);
          expect(tick).toBeGreaterThan(axis.low - slack);
          expect(tick).toBeLessThan(axis.high + slack);
        }
      }),
    );
  });

  it("contains its values, with a margin at an end that is not 0", () => {
    expect(axisAround([0, 10])).toEqual({ low: 0, high: 10.4 });
    expect(axisAround([-10, 0])).toEqual({ low: -10.4, high: 0 });
    expect(axisAround([90, 100])).toEqual({ low: 89.6, high: 100.4 });
    // Equal values leave no range, from which a margin could follow.
    expect(axisAround([5, 5])).toEqual({ low: 4.8, high: 5.2 });
    expect(axisAround([0, 0])).toEqual({ low: 0, high: 0.04 });
  });

  it("is rounded outward to ticks, although decimal fractions are inexact", () => {
    expect(roundedAxisAround([-0.12, 0.133])).toEqual({ low: -0.15, high: 0.15 });
    const axis = roundedAxisAround([0.56, 1.33]);
    expect(axis).toEqual({ low: 0.4, high: 1.4 });
    expect(axisTicks(axis)).toEqual([0.4, 0.6, 0.8, 1, 1.2, 1.4]);
    expect(roundedAxisAround([0, 369])).toEqual({ low: 0, high: 400 });
  });

  it("gives all ticks the number of decimals that the finest needs", () => {
    expect(tickDecimals([0, 0.005, 0.01])).toBe(3);
    expect(tickDecimals([0.1, 0.2])).toBe(1);
    expect(tickDecimals([0, 200])).toBe(0);
    expect(tickDecimals([0])).toBe(0);
  });
});

describe("a column axis", () => {
  it("labels the years of a long history, and the months of a shorter one", () => {
    const years = timeAxis(weekdays("2014-07-01", 3_800));
    expect(textsOf(years)).toEqual([
      ...["2015", "(2016)", "2017", "(2018)", "2019", "(2020)", "2021", "(2022)", "2023", "(2024)"],
    ]);
    expect(textsOf(timeAxis(weekdays("2014-11-15", 270)))).toEqual([
      ...["Jan 2015", "(Mar 2015)", "May 2015", "(Jul 2015)"],
    ]);
    expect(textsOf(timeAxis(weekdays("2014-07-15", 40 * 365))).length).toBeLessThanOrEqual(12);
  });

  it("has room for every label where sessions are missing", () => {
    const gap = weekdays("2014-01-02", 700).filter((at) => {
      const month = new Date(at).toISOString().slice(0, 7);
      return month <= "2014-06" || month >= "2014-12";
    });
    const { labels, total } = timeAxis(gap);
    const distances = labels
      .slice(1)
      .map(({ place }, index) => place - (labels[index]?.place ?? 0));
    expect(labels.length).toBeGreaterThan(3);
    expect(Math.min(...distances) / total).toBeGreaterThanOrEqual(0.1);
  });

  it("labels days where the sessions of a long history begin one month only", () => {
    const instants = ["2014-04-03", "2014-04-04", "2014-04-07", "2014-07-01"];
    const texts = textsOf(timeAxis(instants.map((date) => Date.parse(date))));
    expect(texts).toEqual(["3 Apr", "(4 Apr)", "7 Apr", "(1 Jul)"]);
  });

  it("labels every name, and on a narrow figure every other one of many", () => {
    const years = Array.from({ length: 11 }, (_, year) => String(2014 + year));
    expect(nameAxis(years).labels.map(({ isMinor }) => isMinor)).toEqual(
      years.map((_, index) => index % 2 === 1),
    );
    const few = nameAxis(["calm", "usual", "turbulent"]);
    expect(few).toMatchObject({ total: 3, hasGrid: false });
    expect(few.labels.some(({ isMinor }) => isMinor)).toBe(false);
  });

  it("places numbers on a continuous axis, which spans from half a column before the first on", () => {
    const axis = { low: 0.4, high: 0.6 };
    const { labels, total } = numberAxis(axis, (value, decimals) => value.toFixed(decimals));
    expect([numberPlace(0.4, axis), numberPlace(0.6, axis)]).toEqual([-0.5, total - 0.5]);
    expect(labels.map(({ text }) => text)).toEqual(["0.40", "0.45", "0.50", "0.55", "0.60"]);
    expect(labels.map(({ place }) => Math.round(place * 10) / 10)).toEqual([
      -0.5, 24.5, 49.5, 74.5, 99.5,
    ]);
  });
});
