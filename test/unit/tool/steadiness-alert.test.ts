import { expect, it } from "vitest";
import type { AlertKind } from "../../../src/alerts/alert.ts";
import type { MarketView } from "../../../src/market/market-view.ts";
import {
  nextStepsOfSteadinessAlert,
  requireRankedInstrument,
} from "../../../src/tool/steadiness-alert.ts";
import { namedInstrument } from "../../support/instruments.ts";

const market = {
  instruments: () => [
    namedInstrument("AAA", "A"),
    namedInstrument("BTC-USD", "B"),
    namedInstrument("SPY", "S", "etf"),
  ],
} as unknown as MarketView;

const of = (kinds: readonly AlertKind[], ...symbols: readonly string[]) =>
  ({ kinds, watched: { by: "symbols", symbols } }) as const;

it("names the funds among the watched symbols, which have no steadiness events", () => {
  expect(nextStepsOfSteadinessAlert(of(["steadiness"], "AAA", "BTC-USD", "SPY"), market)).toEqual([
    "steadiness: no event comes of SPY: funds are not ranked.",
  ]);
  expect(nextStepsOfSteadinessAlert(of(["steadiness"], "AAA"), market)).toEqual([]);
  expect(nextStepsOfSteadinessAlert(of(["volatility"], "SPY"), market)).toEqual([]);
});

it("refuses an alert that can have no event at all", () => {
  const refuse =
    (...args: Parameters<typeof of>) =>
    () =>
      requireRankedInstrument(of(...args), market);
  expect(refuse(["steadiness"], "SPY")).toThrow("no steadiness of SPY");
  expect(refuse(["steadiness"], "BTC-USD", "SPY")).not.toThrow();
  expect(refuse(["steadiness", "volatility"], "SPY")).not.toThrow();
});
