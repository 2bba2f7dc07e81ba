import { describe, expect, it } from "vitest";
import { historyDrawings } from "../../../../src/http/home/history-chart.ts";
import { THRESHOLDS } from "../../../../src/score/direction.ts";

const point = (day: number, score: number) => ({
  asOf: new Date(Date.UTC(2014, 0, 1 + day, 21)).toISOString(),
  ...({ status: "ok", signal: "WAIT", score, scoreRaw: score, scoreSmoothed: 50 } as const),
  ...{ confidence: 0.5, coverage: 1 },
});

const drawn = (scores: readonly number[], dayMs = 86_400_000) =>
  String(
    historyDrawings({
      history: scores.map((score, day) => point(day, score)),
      thresholds: THRESHOLDS,
      dayMs,
    }),
  );

/** The heights of the line in a colour, in the narrow drawing, from 0 at the bottom to 1 at the top. */
function heightsOf(svg: string, colour: string): readonly number[] {
  const [narrow = ""] = svg.split("</svg>");
  const ofPath = (text: string) => {
    const numbers = [...text.matchAll(/-?\d+(?:\.\d+)?/g)].map(Number);
    return numbers.filter((_, at) => at % 2 === 1);
  };
  const paths = [...narrow.matchAll(/<path d="([^"]*)"([^>]*)>/g)];
  const [, path = ""] = paths.find(([, , rest = ""]) => rest.includes(`stroke="${colour}"`)) ?? [];
  const grid = paths.filter(([, , rest = ""]) => rest.includes("var(--line)"));
  const levels = grid.flatMap(([, text = ""]) => ofPath(text));
  const [top, bottom] = [Math.min(...levels), Math.max(...levels)];
  return ofPath(path).map((y) => (bottom - y) / (bottom - top));
}

describe("the drawing of a score history", () => {
  it("has every score at its height, on an axis from 0 to 100", () => {
    const scores = [0, 100, 50, 75];
    const heights = heightsOf(drawn(scores), "var(--faint)");
    expect(heights.map((height) => Math.round(100 * height))).toEqual(scores);
  });

  it("has no style of its own, which the policy of the pages forbids, and no size", () => {
    const svg = drawn([40, 60]);
    expect(svg).not.toMatch(/style|class="zr|ecmeta|<svg[^>]* width=/);
    expect(svg.match(/<svg /g)).toHaveLength(2);
    expect(svg).toMatch(/viewBox="0 0 340 220"[\s\S]*viewBox="0 0 1040 280"/);
  });

  it("tells short market days apart by the time, and long ones by the month", () => {
    expect(drawn([40, 60])).toContain("Jan 2014");
    expect(drawn([40, 60], 60_000)).toContain("21:00");
  });
});
