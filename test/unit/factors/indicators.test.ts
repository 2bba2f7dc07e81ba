import { ATR, EMA, MACD, RSI, SMA } from "trading-signals";
import { describe, expect, it } from "vitest";
import { technicalIndicators } from "../../../src/factors/indicators.ts";
import { createVolatilityTracker } from "../../../src/factors/volatility.ts";
import type { Bar } from "../../../src/market/records.ts";
import { referenceBars, withCorporateActions } from "./reference.ts";

const valuesOf = (bars: readonly Bar[]) =>
  Object.fromEntries(technicalIndicators(bars).map(({ name, value }) => [name, value]));

describe("the technical indicators, which are displayed but not scored,", () => {
  it("match the worked example: RSI14 48.318827, ATR14 2.354338, MACD -1.202501", () => {
    const { rsi14, atr14, macd12_26, macdOverAtr } = valuesOf(referenceBars());
    expect(rsi14).toBeCloseTo(48.318827, 6);
    expect(atr14).toBeCloseTo(2.354338, 6);
    expect(macd12_26).toBeCloseTo(-1.202501, 6);
    expect(macdOverAtr).toBeCloseTo(-1.202501 / 2.354338, 6);
  });

  it.each([26, 199, 200, 300, 512])(
    "match an independent library to the last digit after %i bars",
    (count) => {
      const bars = referenceBars(count);
      const [rsi, atr] = [new RSI(14), new ATR(14)];
      const macd = new MACD(new EMA(12), new EMA(26), new EMA(9));
      const [short, long] = [new SMA(50), new SMA(200)];
      for (const bar of bars) {
        for (const indicator of [rsi, macd, short, long]) indicator.add(bar.close);
        atr.add(bar);
      }
      const { rsi14, atr14, macd12_26, sma50OverSma200 } = valuesOf(bars);
      expect(rsi14).toBe(rsi.getResult());
      expect(atr14).toBe(atr.getResult());
      expect(macd12_26).toBe(macd.getResult()?.macd);
      const ratio = long.isStable ? short.getResultOrThrow() / long.getResultOrThrow() : null;
      expect(sma50OverSma200).toBe(ratio);
    },
  );

  it("are computed from adjusted prices, based on the newest price", () => {
    const adjusted = valuesOf(withCorporateActions(referenceBars()));
    const plain = valuesOf(referenceBars());
    expect(adjusted.rsi14).toBeCloseTo(plain.rsi14 ?? Number.NaN, 6);
    expect(adjusted.macdOverAtr).toBeCloseTo(plain.macdOverAtr ?? Number.NaN, 6);
    expect(adjusted.sma50OverSma200).toBeCloseTo(plain.sma50OverSma200 ?? Number.NaN, 6);
    expect(adjusted.return1m).toBeCloseTo(plain.return1m ?? Number.NaN, 9);
  });

  it("do not depend on history older than two years", () => {
    const [long, longer] = [referenceBars(2_000), referenceBars(2_000).slice(600)].map(valuesOf);
    expect(long).toEqual(longer);
  });

  it("have weight 0, and have no value when there are too few bars", () => {
    for (const count of [0, 1, 14, 26, 50, 199, 200]) {
      const shown = technicalIndicators(referenceBars(count));
      expect(shown.map(({ name }) => name)).toEqual(
        technicalIndicators([]).map(({ name }) => name),
      );
      expect(shown.every(({ z, weight }) => z === null && weight === 0)).toBe(true);
      expect(shown.every(({ value }) => value === null || Number.isFinite(value))).toBe(true);
    }
    expect(valuesOf(referenceBars(199)).sma50OverSma200).toBeNull();
    expect(valuesOf(referenceBars(200)).sma50OverSma200).not.toBeNull();
    expect(valuesOf(referenceBars(21)).return1m).toBeNull();
    expect(valuesOf(referenceBars(22)).return1m).not.toBeNull();
  });
});

describe("the volatility reading", () => {
  const readingsOf = (bars: readonly Bar[]) => {
    const volatility = createVolatilityTracker();
    return bars.map((bar) => volatility.add(bar));
  };

  it("matches the worked example: q -.001149, z -.972370", () => {
    const readings = readingsOf(referenceBars());
    const newest = readings.at(-1);
    expect(newest?.q).toBeCloseTo(-0.001149, 6);
    expect(newest?.z).toBeCloseTo(-0.97237, 6);
    const window = readings.slice(-252).map((reading) => reading?.q ?? Number.NaN);
    const mean = window.reduce((sum, q) => sum + q, 0) / 252;
    expect(mean).toBeCloseTo(0.000201, 6);
    const squares = window.reduce((sum, q) => sum + (q - mean) ** 2, 0);
    expect(Math.sqrt(squares / 251)).toBeCloseTo(0.001388, 6);
  });

  it("is unaffected by splits and dividends", () => {
    const adjusted = readingsOf(withCorporateActions(referenceBars())).at(-1);
    expect(adjusted?.q).toBeCloseTo(-0.001149, 4);
  });

  it("skips a session whose prices produce no finite number", () => {
    const [first, ...rest] = referenceBars(40) as [Bar, ...Bar[]];
    const absurd = [
      { ...first, high: 1.7e308, close: 5e-324, logReturn: 0.1 },
      { ...first, logReturn: Number.NEGATIVE_INFINITY },
    ];
    const readings = readingsOf([first, ...absurd, ...rest]);
    expect(readings.slice(0, 3)).toEqual([undefined, undefined, undefined]);
    expect(readings.slice(3)).toEqual(readingsOf([first, ...rest]).slice(1));
  });

  it("has a z-score only after 252 sessions, and is undefined when prices do not change", () => {
    const readings = readingsOf(referenceBars());
    expect(readings[0]).toBeUndefined();
    expect(readings[251]?.z).toBeNull();
    expect(readings[252]?.z).not.toBeNull();
    const [bar] = referenceBars(1) as [Bar];
    const still = { ...bar, open: 1, high: 1, low: 1, close: 1, logReturn: 0 };
    expect(readingsOf([bar, still, still]).at(-1)).toBeUndefined();
  });
});
