import { expect, it } from "vitest";
import { changesSection } from "../../../../../src/http/pages/home/changes-section.ts";
import type { HistoryPoint } from "../../../../../src/http/pages/home/history-view.ts";

const pointOf = (day: number, change: Partial<HistoryPoint>): HistoryPoint => ({
  asOf: new Date(Date.UTC(2026, 0, 1 + day)).toISOString(),
  status: "ok",
  signal: "LONG",
  score: 80,
  scoreRaw: 80,
  scoreSmoothed: 75,
  confidence: 0.6,
  coverage: 1,
  close: 100,
  entry: undefined,
  contributions: undefined,
  ...change,
});

/** Renders six sessions with the signal LONG, and a seventh in which the signal changes to WAIT. */
const shown = (last: Partial<HistoryPoint>, firstEntry = 7) => {
  const points = Array.from({ length: 7 }, (_, day) =>
    pointOf(day, {
      ...(day === 6 && { signal: "WAIT", ...last }),
      entry: day >= firstEntry ? day : undefined,
    }),
  );
  const signal = { symbol: "AAA", assetClass: "stock" } as const;
  return String(changesSection({ signal, history: { points }, showsFactors: false }));
};

it.each([
  ["LONG ends below 55", { scoreSmoothed: 54.9 }],
  ["coverage fell below 60 %", { coverage: 0.55 }],
  ["confidence fell below 25 %", { confidence: 0.2 }],
  ["trading stopped", { status: "stale", coverage: 0.4, confidence: 0.1 }],
] as const)("the end of a signal is shown with the reason %j", (reason, last) => {
  expect(shown(last)).toContain(`<span class="unit">${reason}</span>`);
});

it("a change that precedes the first logged session is marked as not logged, and a later change links to its proof", () => {
  expect(shown({})).toContain("not logged");
  expect(shown({}, 6)).toContain("/market/AAA/proof?entry=6");
});
