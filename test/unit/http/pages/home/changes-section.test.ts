import { expect, it } from "vitest";
import { changesSection } from "../../../../../src/http/pages/home/changes-section.ts";
import type { HistoryPoint } from "../../../../../src/http/pages/home/history-view.ts";
import type { AssetClass } from "../../../../../src/market/instrument.ts";

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
const shown = (
  last: Partial<HistoryPoint>,
  { assetClass = "stock", firstEntry = 7 }: { assetClass?: AssetClass; firstEntry?: number } = {},
) => {
  const points = Array.from({ length: 7 }, (_, day) =>
    pointOf(day, {
      ...(day === 6 && { signal: "WAIT", ...last }),
      entry: day >= firstEntry ? day : undefined,
    }),
  );
  const signal = { symbol: "AAA", assetClass };
  return String(changesSection({ signal, history: { points }, showsFactors: false }));
};

it.each([
  ["stock", "LONG ends below 50", { scoreSmoothed: 49.9, coverage: 0.55 }],
  ["stock", "its score could not be measured", { score: null, scoreRaw: null }],
  ["stock", "its momentum became unknown", { coverage: 0.55, confidence: 0.2 }],
  ["stock", "trading stopped", { status: "stale", scoreSmoothed: 49.9 }],
  ["etf", "LONG ends below 55", { scoreSmoothed: 54.9 }],
  ["etf", "coverage fell below 60 %", { coverage: 0.55 }],
  ["etf", "confidence fell below 25 %", { confidence: 0.2 }],
  ["etf", "trading stopped", { status: "stale", coverage: 0.4, confidence: 0.1 }],
] as const)(
  "the end of the signal of a %s is shown with the reason %j",
  (assetClass, reason, last) => {
    expect(shown(last, { assetClass })).toContain(`<span class="unit">${reason}</span>`);
  },
);

it("a change that precedes the first logged session is marked as not logged, and a later change links to its proof", () => {
  expect(shown({})).toContain("not logged");
  expect(shown({}, { firstEntry: 6 })).toContain("/market/AAA/proof?entry=6");
});
