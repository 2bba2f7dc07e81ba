import { describe, expect, it } from "vitest";
import type { ClassResult, HorizonResult } from "../../../src/research/backtest/class-results.ts";
import {
  decileChart,
  reliabilityChart,
  wealthChart,
  yearChart,
} from "../../../src/research/backtest/report/charts.ts";
import { coefficientChart } from "../../../src/research/backtest/report/coefficient-chart.ts";
import { pointsOf, positionsByAxis } from "../../support/drawn.ts";

/** Height in which the charts are measured: a unit is then a tenth of a percent. */
const HEIGHT = 1_000;

/** Largest distance between drawn and expected positions, in pixels of a panel of 192 pixels. */
function largestError(drawn: readonly number[], expected: readonly number[]): number {
  expect(drawn.length).toBe(expected.length);
  const errors = drawn.map((y, index) => Math.abs(y - (expected[index] ?? Number.NaN)));
  return (192 * Math.max(...errors)) / HEIGHT;
}

const EXCESS = [-0.0012, -0.0003, 0, 0.0004, 0.0021];
const PATH = [1, 1.04, 0.97, 1.21, 1.3].map((gross, day) => ({
  date: `2014-01-0${day + 2}`,
  gross,
  net10: gross - 0.01 * day,
}));

const book = { names: 12, excess: EXCESS, path: PATH };
const result = { horizon: 5, book } as unknown as HorizonResult;

describe("the charts of the backtest report", () => {
  it("draw bars from 0 to the values, with their values as tooltips, text alternative and table", () => {
    const html = String(decileChart(result));
    const bars = Array.from(html.matchAll(/class="bar (\w+)" d="M-?[\d.]+ (\d+)V(\d+)h/g));
    const [zero = 0, ...tops] = positionsByAxis({ html, height: HEIGHT }, [
      ...[0, ...EXCESS].map((value) => 100 * value),
    ]);
    expect(bars.map(([, color]) => color)).toEqual(["second", "second", "first", "first", "first"]);
    expect(
      largestError(
        bars.map(([, , foot]) => Number(foot)),
        tops.map(() => zero),
      ),
    ).toBeLessThan(1);
    expect(
      largestError(
        bars.map(([, , , top]) => Number(top)),
        tops,
      ),
    ).toBeLessThan(1);
    expect(html).toContain("<title>5: +0.210\u00a0%</title>");
    expect(html).toContain('role="img" aria-label="1: −0.120\u00a0%, 2: −0.030\u00a0%, ');
    expect(html).toContain('<th scope="row">5</th><td>+0.210\u00a0%</td>');
  });

  it("draw lines through the values, and say where they end", () => {
    const html = String(wealthChart(result));
    for (const [name, key] of [
      ["line first", "gross"],
      ["line second", "net10"],
    ] as const) {
      const expected = positionsByAxis(
        { html, height: HEIGHT },
        PATH.map((day) => day[key]),
      );
      expect(
        largestError(
          pointsOf({ html }, name).map(({ y }) => y),
          expected,
        ),
      ).toBeLessThan(1);
    }
    expect(html).toContain("Before costs: 1.300 at the end, between 0.970 and 1.300");
    expect(html).toContain('<th scope="row">2014-01-06</th><td>1.300</td><td>1.260</td>');
  });

  it("draw means and their intervals", () => {
    const summary = (mean: number) => ({ mean, interval: { low: mean - 0.01, high: mean + 0.02 } });
    const horizons = [1, 5, 21, 63].map((horizon) => ({
      horizon,
      ic: summary(0.001 * horizon),
      neutralIc: horizon === 21 ? null : summary(-0.002 * horizon),
    }));
    const html = String(coefficientChart({ horizons } as unknown as ClassResult));
    const all = [
      ...horizons.map(({ ic }) => ic),
      ...horizons.flatMap(({ neutralIc }) => neutralIc ?? []),
    ];
    const at = (values: readonly number[]) => positionsByAxis({ html, height: HEIGHT }, values);
    const dots = Array.from(
      html.matchAll(/<circle [^>]*cy="([\d.]+)%"/g),
      ([, y]) => 10 * Number(y),
    );
    expect(largestError(dots, at(all.map(({ mean }) => mean)))).toBeLessThan(1);
    const lines = Array.from(html.matchAll(/class="interval \w+" [^>]*y1="(\d+)" y2="(\d+)"/g));
    for (const [end, key] of [
      [1, "low"],
      [2, "high"],
    ] as const) {
      expect(
        largestError(
          lines.map((line) => Number(line[end])),
          at(all.map(({ interval }) => interval[key])),
        ),
      ).toBeLessThan(1);
    }
    expect(html).toContain(
      "<title>neutral, 5 sessions: −0.0100, 95\u00a0% interval −0.0200 to +0.0100</title>",
    );
  });

  it("place forecasts and frequencies on equal axes, so that calibrated ones lie on the line", () => {
    const bins = [0.1, 0.2, 0.35].map((share) => ({
      forecasts: 40,
      meanProbability: share,
      frequency: share,
    }));
    const html = String(reliabilityChart("Falls", { bins }));
    const dots = Array.from(html.matchAll(/<circle [^>]*cx="([\d.]+)%" cy="([\d.]+)%"/g));
    expect(dots.length).toBe(3);
    for (const [, x, y] of dots) expect(Number(x) + Number(y)).toBeCloseTo(100, 0);
    expect(html).toMatch(/class="ideal" x1="-0.5" y1="1000" x2="99.5" y2="0"/);
    expect(html).toContain("<title>forecast 20.0\u00a0%, observed 20.0\u00a0%</title>");
  });

  it("say so where there is too little to draw, and keep the table", () => {
    const years = [{ label: "2014", dates: 3, mean: 0.5, t: null }];
    const html = String(yearChart({ years, horizon: 5 } as unknown as HorizonResult));
    expect(html).toContain("Too short to show: 2014.");
    expect(html).toContain("There is too little to draw.");
    expect(html).toContain('<th scope="row">2014</th><td>+0.5000</td>');
    expect(html).not.toContain("<svg");
  });
});
