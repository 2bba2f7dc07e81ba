import { describe, expect, it } from "vitest";
import { gradeRun } from "../../../../../src/grading/run-grade.ts";
import {
  computeTrackRecordFigures,
  type GradedRun,
  trackRecordTerms,
} from "../../../../../src/grading/track-record.ts";
import { trackRecordSection } from "../../../../../src/http/pages/home/track-record-section.ts";
import { DAY_MS } from "../../../../../src/lib/day.ts";
import { runningMethod } from "../../../../../src/method/running.ts";
import { randomAt } from "../../../../../src/statistics/random.ts";
import { pointsOf, positionsByAxis } from "../../../../support/drawn.ts";

const HORIZON = 5;
const EXCLUDED = { failed: 0, unscored: 0, untraded: 0, unsettled: 0, copies: 0 };

/** Height of the panel in CSS pixels, larger than in any browser window. */
const HEIGHT = 400;

/** Thirty sessions with twelve random decisions each. The fifth session was signed too late. */
const runs: readonly GradedRun[] = Array.from({ length: 30 }, (_, session) => {
  const statements = Array.from({ length: 12 }, (_unused, at) => ({
    sector: at < 6 ? "Energy" : null,
    signal: (["LONG", "SHORT", "WAIT"] as const)[at % 3] ?? "WAIT",
    score: 100 * randomAt(session, at),
    followed: 0.1 * (randomAt(100 + session, at) - 0.5),
    fromClose: 0,
    sigma: null,
  }));
  const close = Date.UTC(2026, 0, 5) + session * DAY_MS;
  const times = { close, exit: close + (HORIZON + 1) * DAY_MS, isLate: session === 4 };
  return { ...gradeRun(statements, undefined), ...times, excluded: EXCLUDED };
});

const record = {
  methodHash: "0123456789abcdef",
  figures: computeTrackRecordFigures("stock", HORIZON, runs, 1),
  runs,
  verdicts: [],
  expectedAt: 0,
  openSince: null,
};

describe("the curve of a track record", () => {
  const html = String(trackRecordSection(record, trackRecordTerms(0), DAY_MS));
  const timely = runs.filter(({ isLate }) => !isLate);
  /** Mean excess return per session of LONG and SHORT decisions, cumulated from the first run. */
  const sums = timely.map((_, last) =>
    timely
      .slice(0, last + 1)
      .reduce((sum, { excess, long, short }) => sum + excess / (long + short) / HORIZON, 0),
  );

  it("plots the cumulative sum after each run that was not late, accurate to a pixel on its axis", () => {
    const panel = { html, height: HEIGHT };
    const heights = positionsByAxis(
      panel,
      sums.map((sum) => 100 * sum),
    );
    const points = pointsOf(panel, "l-score");
    expect(points).toHaveLength(29);
    const errors = points.map(({ y }, at) =>
      Math.abs((y * HEIGHT) / 1_000 - (heights[at] ?? Number.NaN)),
    );
    expect(Math.max(...errors)).toBeLessThan(1);
  });

  it("is repeated as a table of the same sums, newest first", () => {
    const rows = [...html.matchAll(/<th scope="row">.*?<\/th><td>([^<]*)<\/td>/g)];
    const told = rows
      .slice(0, 29)
      .map(([, text = ""]) => Number.parseFloat(text.replace("−", "-")));
    expect(told).toEqual(sums.toReversed().map((sum) => Number((100 * sum).toFixed(2))));
  });
});

describe("a track record on its page", () => {
  const text = String(trackRecordSection(record, trackRecordTerms(0), DAY_MS))
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/\s+/g, " ");

  it("names its method unless that is the running one", () => {
    expect(text).toContain("Stock, 5 sessions, earlier method 0123456789abcdef");
    const { methodHash } = runningMethod();
    const running = String(
      trackRecordSection({ ...record, methodHash }, trackRecordTerms(0), DAY_MS),
    );
    expect(running).toContain("Stock, 5 sessions</h2>");
  });

  it("shows the figures by signal and by sector", () => {
    const { bySignal, bySector } = record.figures;
    expect(bySignal).toHaveLength(3);
    for (const { signal, statements } of bySignal)
      expect(text).toContain(`${signal} ${statements}`);
    expect(bySector.map(({ sector }) => sector)).toEqual(["Energy", null]);
    for (const { sector, long, short, wait } of bySector) {
      expect(text).toContain(`${sector ?? "not known"} ${long} ${short} ${wait}`);
    }
  });
});
