import { describe, expect, it } from "vitest";
import type { ResolvedSelector } from "../../../src/alerts/watchlists/watchlist.ts";
import type { Snapshot } from "../../../src/score/snapshot.ts";
import { nextStepsOfSignalAlert } from "../../../src/tool/signal-alert.ts";
import { snapshotOf } from "../../support/scripted-market.ts";

const covered = (
  symbol: string,
  coverage: number,
  assetClass: Snapshot["instrument"]["assetClass"] = "etf",
): Snapshot => ({ ...snapshotOf(symbol, 0, { assetClass }), coverage });

const many = Array.from({ length: 12 }, (_, index) => covered(`X${index}`, 0.33));
/** Coverage is no gate for stocks. */
const STOCK = covered("TSLA", 0.33, "stock");
const context = {
  snapshots: { allNewest: () => [covered("AAA", 0.6), covered("BBB", 0.51), ...many, STOCK] },
} as unknown as Parameters<typeof nextStepsOfSignalAlert>[1];

const stepsFor = (watched: ResolvedSelector) =>
  nextStepsOfSignalAlert({ kinds: ["signal_shift"], watched }, context);

describe("an alert on signals", () => {
  it("warns of funds and coins whose coverage is too low for LONG and SHORT", () => {
    const watched = { by: "symbols", symbols: ["AAA", "BBB", "TSLA"], signal: "LONG" } as const;
    expect(stepsFor(watched)).toEqual([
      "signal_shift: BBB (0.51) cannot become LONG or SHORT with the coverage of now (in brackets); both need 0.6. get_factors says what is missing.",
    ]);
    expect(stepsFor({ ...watched, symbols: ["AAA", "TSLA"] })).toEqual([]);
    expect(nextStepsOfSignalAlert({ kinds: ["volatility"], watched }, context)).toEqual([]);
  });

  it("names the first ten of them", () => {
    const [step] = stepsFor({ by: "filter", assetClass: "etf", signal: null });
    expect(step).toContain("BBB (0.51), X0 (0.33)");
    expect(step).toContain("X8 (0.33) and 3 more cannot become LONG");
  });
});
