import { describe, expect, it } from "vitest";
import type { ResolvedSelector } from "../../../src/alerts/watchlists/watchlist.ts";
import { DAY_MS } from "../../../src/lib/day.ts";
import type { AssetClass } from "../../../src/market/instrument.ts";
import type { MarketView } from "../../../src/market/market-view.ts";
import { RANGE_BREACHES } from "../../../src/risk/measured-table.ts";
import { nextStepsOfRangeAlert, requireForecastRange } from "../../../src/tool/range-alert.ts";
import { snapshotOf } from "../../support/scripted-market.ts";
import { madeBars } from "../risk/bars.ts";

/** A recorded market of the given instruments, each with a class and a number of sessions. */
function marketOf(listed: Readonly<Record<string, readonly [AssetClass, number]>>): MarketView {
  const instruments = Object.entries(listed).map(
    ([symbol, [assetClass]]) => snapshotOf(symbol, 0, { assetClass }).instrument,
  );
  const market: Partial<MarketView> = {
    mode: "files",
    source: { id: "s", name: "Recorded", terms: "None.", simulated: false },
    knownUntil: () => 1_000 * DAY_MS,
    instruments: () => instruments,
    records: (symbol) => ({
      instrument:
        instruments.find((one) => one.symbol === symbol) ?? snapshotOf(symbol, 0).instrument,
      bars: madeBars(listed[symbol]?.[1] ?? 0),
    }),
  };
  return market as MarketView;
}

const market = marketOf({
  ...{ AAA: ["stock", 400], NEW: ["stock", 100], SPY: ["etf", 400], BTC: ["crypto", 400] },
});

const named = (...symbols: string[]): ResolvedSelector => ({ by: "symbols", symbols });
const all = (assetClass: AssetClass | null): ResolvedSelector => ({
  ...{ by: "filter", assetClass, signal: null },
});
const stepsFor = (watched: ResolvedSelector) =>
  nextStepsOfRangeAlert({ kinds: ["volatility", "range"], watched }, market);

const STOCKS =
  "range: closes left 1 in 17 ranges of stocks (5.94 % of 90935 over 5 sessions, out of sample): expect about 3 events a year for each.";
const COINS =
  "range: closes left 1 in 22 ranges of coins (4.57 % of 2935 over 7 days, out of sample): expect about 2 events a year for each.";

describe("an alert on price ranges", () => {
  it("states the expected frequency of events, based on the measured share of closes outside the range", () => {
    expect(stepsFor(named("AAA"))).toEqual([STOCKS]);
    expect(stepsFor(named("BTC"))).toEqual([COINS]);
    expect(RANGE_BREACHES.stock?.share).toBe(0.0594);
    expect(nextStepsOfRangeAlert({ kinds: ["volatility"], watched: named("AAA") }, market)).toEqual(
      [],
    );
  });

  it("lists the instruments that cannot cause events, with the reason and an alternative", () => {
    expect(stepsFor(named("AAA", "SPY", "NEW"))).toEqual([
      STOCKS,
      "range: no event comes of NEW: it needs 252 sessions in which the price moves. Use signal_shift or volatility there.",
      "range: no event comes of SPY: too few instruments to test it on. Use signal_shift or volatility there.",
    ]);
    expect(stepsFor(all(null))).toEqual([
      STOCKS,
      COINS,
      "range: no event comes of funds: too few instruments to test it on. Use signal_shift or volatility there.",
    ]);
  });

  it("is rejected with a suggested next step when none of its instruments has a range", () => {
    const refuse = (watched: ResolvedSelector, kinds: readonly ("range" | "volatility")[]) => () =>
      requireForecastRange({ kinds, watched }, market);
    expect(refuse(named("SPY", "NEW"), ["range"])).toThrow(
      "invalid_request: kinds: there is no range for NEW: it needs 252 sessions in which the price moves; SPY: too few instruments to test it on. Use the kinds signal_shift or volatility, or name an instrument for which get_signal with risk=full has ranges.",
    );
    expect(refuse(all("etf"), ["range"])).toThrow("there is no range for funds");
    expect(refuse(named("SPY", "AAA"), ["range"])).not.toThrow();
    expect(refuse(named("SPY"), ["volatility", "range"])).not.toThrow();
    expect(refuse(all(null), ["range"])).not.toThrow();
    const empty = () =>
      requireForecastRange({ kinds: ["range"], watched: all(null) }, marketOf({}));
    expect(empty).not.toThrow();
  });
});
