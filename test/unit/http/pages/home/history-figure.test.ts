import { describe, expect, it } from "vitest";
import {
  type HistoryFigure,
  historyPlot,
} from "../../../../../src/http/pages/home/history-figure.ts";
import { DAY_MS } from "../../../../../src/lib/day.ts";
import { SIGNAL_THRESHOLDS } from "../../../../../src/score/signal-hysteresis.ts";
import { pointsOf, positionsByAxis } from "../../../../support/drawn.ts";

type Point = HistoryFigure["points"][number];

const point = (day: number, some: Partial<Point> = {}): Point => ({
  asOf: new Date(Date.UTC(2014, 0, 1, 21) + day * DAY_MS).toISOString(),
  status: "ok",
  signal: "WAIT",
  score: 50,
  scoreRaw: 50,
  scoreSmoothed: 50,
  confidence: 0.5,
  coverage: 1,
  close: 100,
  contributions: undefined,
  entry: undefined,
  ...some,
});

const days = (count: number, some: (day: number) => Partial<Point>) =>
  Array.from({ length: count }, (_, day) => point(day, some(day)));

interface Chosen extends Partial<Omit<HistoryFigure, "signal">> {
  readonly points: readonly Point[];
  readonly signal?: Partial<HistoryFigure["signal"]>;
}

/** Returns the HTML of the panels in order: price, score and time axis. */
function drawn({ signal, ...chosen }: Chosen): readonly string[] {
  const usual = { thresholds: SIGNAL_THRESHOLDS.etf, nextReport: null, range80: null, price: null };
  const figure = { filed: [], splits: 0, kept: undefined, isLog: false, dayMs: DAY_MS, ...chosen };
  const plot = historyPlot({ ...figure, signal: { ...usual, ...signal } }, "of a test");
  return String(plot).split('<div class="panel ').slice(1);
}

const HEIGHT = 304;

const closes = [100, 103, 97, 120, 80, 111.11, 99.5];

describe("the chart of price and score", () => {
  it.each([
    ["linear", false, (value: number) => value],
    ["logarithmic", true, Math.log],
  ])("places every close on a %s axis to within a pixel", (_, isLog, transform) => {
    const points = days(closes.length, (day) => ({ close: closes[day] ?? null }));
    const [html = ""] = drawn({ points, isLog });
    const expected = positionsByAxis({ html, height: HEIGHT }, closes, transform);
    const errors = pointsOf({ html }, "l-price").map(
      ({ y }, day) => (y * HEIGHT) / 1_000 - (expected[day] ?? Number.NaN),
    );
    expect(errors).toHaveLength(closes.length);
    expect(Math.max(...errors.map(Math.abs))).toBeLessThan(1);
  });

  it("places scores and smoothed scores on an axis from 0 to 100", () => {
    const scores = [0, 100, 50, 75];
    const smoothed = [40, 55, 30, 90];
    const points = days(4, (day) => ({
      scoreRaw: scores[day] ?? 0,
      scoreSmoothed: smoothed[day] ?? 0,
    }));
    const [, html = ""] = drawn({ points });
    expect(pointsOf({ html }, "l-raw").map(({ y }) => 100 - y / 10)).toEqual(scores);
    expect(pointsOf({ html }, "l-score").map(({ y }) => 100 - y / 10)).toEqual(smoothed);
  });

  it("contains all four thresholds, dashed for entering and dotted for leaving a direction", () => {
    const thresholds = {
      ...SIGNAL_THRESHOLDS.etf,
      enterLong: 71,
      exitLong: 56,
      enterShort: 22,
      exitShort: 44,
    };
    const [, html = ""] = drawn({ points: days(3, () => ({})), signal: { thresholds } });
    const lines = Array.from(
      html.matchAll(/<line class="(t-[^"]*)"[^>]*y1="([\d.]+)"/g),
      ([, name, y]) => [name, 100 - Number(y) / 10],
    );
    expect(lines).toEqual([
      ["t-long", 71],
      ["t-long t-end", 56],
      ["t-short t-end", 44],
      ["t-short", 22],
    ]);
  });

  it("shades exactly the sessions with LONG or SHORT", () => {
    const signals = ["LONG", "LONG", "WAIT", "SHORT", "LONG"] as const;
    const points = days(5, (day) => ({ signal: signals[day] ?? "WAIT" }));
    const [, html = ""] = drawn({ points });
    // The x coordinate at the middle of a session is its index.
    const spans = Array.from(
      html.matchAll(/<rect x="([-\d.]+)" width="([\d.]+)" class="span-(\w+)" /g),
      ([, from, across, name]) => [name, Number(from) + 0.5, Number(across)],
    );
    expect(spans).toEqual([
      ["long", 0, 2],
      ["short", 3, 1],
      ["long", 4, 1],
    ]);
  });

  it("marks filed reports, and the window of the next report after the newest session", () => {
    const nextReport = {
      event: "filing",
      windowCoverage: 0.95,
      expected: "2014-02-04",
      earliest: "2014-02-01",
      latest: "2014-02-07",
      basis: "year_before",
    } as const;
    const filed = [Date.UTC(2014, 0, 10)];
    const [html = ""] = drawn({ points: days(31, () => ({})), filed, signal: { nextReport } });
    const at = (name: string) =>
      Number(new RegExp(`class="${name}" x1="([\\d.]+)"`).exec(html)?.[1]);
    expect(at("now")).toBe(30);
    expect(at("filed")).toBe(9);
    expect(at("report-l")).toBe(33);
    const [, x, width] = /class="report" x="([\d.]+)%" width="([\d.]+)%"/.exec(html) ?? [];
    const [, total] = /viewBox="-.5 0 (\d+) /.exec(html) ?? [];
    const places = (percent: string | undefined) => (Number(percent) * Number(total)) / 100;
    expect(places(x)).toBeCloseTo(31, 1);
    expect(places(width)).toBeCloseTo(6, 1);
    expect(drawn({ points: days(31, () => ({})) }).join()).not.toMatch(/class="(?:report|filed)/);
  });

  it("places the published range of future prices correctly on the time axis and the price axis", () => {
    const range80 = { "5": [90, 110], "21": [80, 125] };
    const [html = ""] = drawn({ points: days(20, () => ({})), signal: { range80 } });
    const [, path = ""] = /<path class="fan" d="M([^"]*)Z"/.exec(html) ?? [];
    const places = path.split(" ").map(Number);
    const [xs, ys] = [0, 1].map((part) => places.filter((_, at) => at % 2 === part));
    expect(xs?.map((x) => x - 19)).toEqual([0, 5, 21, 21, 5, 0]);
    const expected = positionsByAxis({ html, height: 1_000 }, [100, 110, 125, 80, 90, 100]);
    const errors = ys?.map((y, at) => Math.abs(y - (expected[at] ?? Number.NaN))) ?? [];
    expect(Math.max(...errors)).toBeLessThan(1_000 / HEIGHT);
  });

  it("leaves a gap where a close is missing", () => {
    const points = days(5, (day) => ({ close: day === 2 ? null : 100 + day }));
    const [html = ""] = drawn({ points });
    expect(/<path class="l-price" d="([^"]*)"/.exec(html)?.[1]?.match(/M/g)).toHaveLength(2);
    expect(drawn({ points: days(5, () => ({ close: null })) })[0]).toMatch(/^p-score/);
  });

  it("labels each month once, short histories by day, and market days shorter than 24 hours by time", () => {
    const [, , months = ""] = drawn({ points: days(120, () => ({})) });
    expect(Array.from(months.matchAll(/>(\w{3} 2014)</g), ([, text]) => text)).toEqual([
      "Feb 2014",
      "Mar 2014",
      "Apr 2014",
    ]);
    expect(drawn({ points: days(20, () => ({})) })[2]).toContain("Jan<");
    expect(drawn({ points: days(20, () => ({})), dayMs: 60_000 })[2]).toContain(">21:00<");
  });
});
