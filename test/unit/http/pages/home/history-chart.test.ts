import { describe, expect, it } from "vitest";
import {
  type ChartData,
  historyDrawings,
} from "../../../../../src/http/pages/home/history-chart.ts";
import { THRESHOLDS } from "../../../../../src/score/signal-hysteresis.ts";
import { heightsOf, spanOf } from "../../../../support/drawn.ts";

const point = (day: number, scoreRaw: number, scoreSmoothed: number) => ({
  asOf: new Date(Date.UTC(2014, 0, 1 + day, 21)).toISOString(),
  ...({ status: "ok", signal: "WAIT", score: 50, scoreRaw, scoreSmoothed } as const),
  ...{ confidence: 0.5, coverage: 1 },
});

/** What a drawing is made from, where a test does not say it. */
const usual = {
  smoothed: [50, 50],
  thresholds: THRESHOLDS,
  nextReport: null,
  dayMs: 86_400_000,
};

type Chosen = Partial<Omit<ChartData, "history">> & { readonly smoothed?: readonly number[] };

const drawn = (scores: readonly number[], chosen: Chosen = {}) => {
  const { smoothed, ...rest } = { ...usual, ...chosen };
  const history = scores.map((score, day) => point(day, score, smoothed[day] ?? 50));
  return String(historyDrawings({ history, ...rest }));
};

/** The drawing for each width. */
const drawings = (svg: string) => svg.split("</svg>").slice(0, 2);

const rounded = (heights: readonly number[]) => heights.map((height) => Math.round(height));

describe("the chart of a score history", () => {
  it("places every score and smoothed score on an axis from 0 to 100", () => {
    const scores = [0, 100, 50, 75];
    const smoothed = [40, 55, 30, 90];
    for (const svg of drawings(drawn(scores, { smoothed }))) {
      expect(rounded(heightsOf(svg, "var(--faint)"))).toEqual(scores);
      expect(rounded(heightsOf(svg, "var(--accent)"))).toEqual(smoothed);
    }
  });

  it("marks the entry levels of LONG and SHORT", () => {
    const thresholds = { ...THRESHOLDS, enterLong: 71, enterShort: 22 };
    for (const svg of drawings(drawn([40, 60], { thresholds }))) {
      expect(rounded(heightsOf(svg, "var(--up)"))).toEqual([71, 71]);
      expect(rounded(heightsOf(svg, "var(--down)"))).toEqual([22, 22]);
    }
  });

  it("marks the next report and its window on an axis that reaches as far", () => {
    const nextReport = {
      ...{ expected: "2014-01-16", earliest: "2014-01-11", latest: "2014-01-21" },
      basis: "year_before" as const,
    };
    for (const svg of drawings(drawn(Array(11).fill(50), { nextReport }))) {
      // Ten sessions of scores, and ten until the end of the window.
      const scores = spanOf(svg, 'stroke="var(--faint)"');
      const report = spanOf(svg, 'stroke="var(--text)"');
      const window = spanOf(svg, 'fill="var(--chip)"');
      const sessions = (x: number) => (10 * (x - scores.from)) / (scores.to - scores.from);
      expect(Math.round(sessions(report.from))).toBe(14);
      expect(report.to).toBeCloseTo(report.from, 5);
      expect(Math.round(sessions(window.from))).toBe(9);
      expect(Math.round(sessions(window.to))).toBe(19);
    }
    expect(drawn([40, 60])).not.toMatch(/var\(--(?:text|chip)\)/);
  });

  it("has no inline style, which the content security policy forbids, and no fixed size", () => {
    const svg = drawn([40, 60]);
    expect(svg).not.toMatch(/style|class="zr|ecmeta|<svg[^>]* width=/);
    expect(svg.match(/<svg /g)).toHaveLength(2);
    expect(svg).toMatch(/viewBox="0 0 340 220"[\s\S]*viewBox="0 0 1040 280"/);
  });

  it("labels a month once", () => {
    const svg = drawn(Array.from({ length: 120 }, () => 50));
    for (const one of drawings(svg)) {
      const months = [...one.matchAll(/>(\w{3} 2014)</g)].map(([, month]) => month);
      expect(months.length).toBeGreaterThan(2);
      expect(new Set(months).size).toBe(months.length);
    }
  });

  it("labels short market days by time, and long ones by month", () => {
    expect(drawn([40, 60])).toContain("Jan 2014");
    expect(drawn([40, 60], { dayMs: 60_000 })).toContain("21:00");
  });
});
