import { describe, expect, it } from "vitest";
import { findExcludedSymbols } from "../../../src/grading/excluded-symbols.ts";
import { returnAfterStatement } from "../../../src/grading/session-returns.ts";
import { DAY_MS } from "../../../src/lib/day.ts";
import type { Bar, InstrumentRecords } from "../../../src/market/records.ts";
import { exposuresAt } from "../../../src/research/backtest/exposures.ts";
import { shortRatioNextOpenCorrelations } from "../../../src/research/backtest/next-open.ts";
import { forecastWalkForward } from "../../../src/research/backtest/probabilities.ts";
import {
  type BacktestQuestion,
  defaultPace,
  gradedSessionIndices,
  headlineHorizonSessions,
  horizonsOf,
  sessionsPerGradedDate,
} from "../../../src/research/backtest/question.ts";
import { createReturnGrid } from "../../../src/research/backtest/return-grid.ts";
import { slicesByRegime, slicesByYear } from "../../../src/research/backtest/slices.ts";
import { countTrials, variantOf } from "../../../src/research/backtest/trials.ts";
import { deflatedTThreshold, verdictOf } from "../../../src/research/backtest/verdict.ts";
import { randomAt } from "../../../src/statistics/random.ts";
import type { SeriesSummary } from "../../../src/statistics/series-summary.ts";
import { instrument } from "../../support/instruments.ts";

/** A stock with a bar on each of the dates, with unadjusted prices. */
function stock(
  symbol: string,
  bars: readonly (readonly [date: string, close: number, dividend?: number, split?: number])[],
): InstrumentRecords {
  let before: number | undefined;
  return {
    instrument: instrument(symbol),
    bars: bars.map(([session, close, dividend = 0, split = 1]): Bar => {
      const logReturn =
        before === undefined ? null : Math.log(((close + dividend) * split) / before);
      before = close;
      const availableAt = Date.parse(session) + 0.8 * DAY_MS;
      const prices = { open: close, high: close, low: close, close };
      return { session, availableAt, ...prices, volume: 10, dividend, split, logReturn };
    }),
  };
}

const WEEK = ["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04", "2024-01-05"] as const;
const [MON, TUE, WED, THU, FRI] = WEEK;

describe("the returns that a backtest grades", () => {
  const grid = createReturnGrid(
    [
      stock("A", [
        [MON, 100],
        [TUE, 110],
        [WED, 55, 1, 2],
        [THU, 60],
        [FRI, 66],
      ]),
      stock("B", [
        [MON, 50],
        [TUE, 50],
        [WED, 40],
      ]),
      stock("C", [
        [MON, 10],
        [TUE, 10],
        [THU, 20],
        [FRI, 20],
      ]),
    ],
    "stock",
    "2024-12-31",
  );
  const followed = (row: number, place: number, horizon: number) => {
    const one = grid.rows[row];
    return one ? returnAfterStatement(one.returns, place, horizon) : undefined;
  };

  it("begin at the close after the score, and include dividends and splits", () => {
    expect(followed(0, 0, 1)).toBeCloseTo(Math.log((56 * 2) / 110), 12);
    expect(followed(0, 0, 3)).toBeCloseTo(Math.log(((56 * 2) / 110) * (60 / 55) * (66 / 60)), 12);
  });

  it("do not extend beyond the end of the calendar", () => {
    expect(followed(0, 0, 4)).toBeNaN();
    expect(followed(0, 3, 1)).toBeNaN();
  });

  it("use the last price if trading ended, and require a bar after the entry", () => {
    expect(followed(1, 0, 3)).toBeCloseTo(Math.log(40 / 50), 12);
    expect(followed(1, 1, 1)).toBeNaN();
  });

  it("span a session without trading if a price follows within the horizon, and are unknown otherwise", () => {
    expect(followed(2, 0, 1)).toBeNaN();
    expect(followed(2, 0, 2)).toBeCloseTo(Math.log(2), 12);
  });

  it("give the market return as their mean over the instruments that traded", () => {
    expect(grid.market[3]).toBeCloseTo((Math.log(60 / 55) + Math.log(2)) / 2, 12);
  });

  it("use no data after the last date", () => {
    const records = [
      stock("A", [
        [MON, 100],
        [TUE, 110],
        [WED, 120],
      ]),
    ];
    expect(createReturnGrid(records, "stock", TUE).sessions.map(({ label }) => label)).toEqual([
      MON,
      TUE,
    ]);
  });
});

describe("the risk exposures of an instrument", () => {
  const dates = Array.from({ length: 400 }, (_, day) =>
    new Date(Date.parse("2023-01-01") + day * DAY_MS).toISOString().slice(0, 10),
  );
  /**
   * A stock that moves `beta` times the common daily move, with much larger moves from day 300 on.
   */
  const mover = (symbol: string, beta: number) => {
    let close = 100;
    return stock(
      symbol,
      dates.map((date, day) => {
        close *= Math.exp((day < 300 ? 0.02 : 0.5) * beta * (randomAt(1, day) - 0.5));
        return [date, close] as const;
      }),
    );
  };
  const grid = createReturnGrid([mover("A", 0.5), mover("B", 1.5)], "stock", "2024-12-31");
  const of = (row: number, place: number) => {
    const one = grid.rows[row];
    return one && exposuresAt(grid, one, place);
  };

  it("are beta, volatility and value traded up to the close", () => {
    expect(of(0, 299)?.beta).toBeCloseTo(0.5, 9);
    expect(of(1, 299)?.beta).toBeCloseTo(1.5, 9);
    const volatility = Math.exp(of(1, 299)?.logVolatility ?? 0);
    expect(volatility).toBeCloseTo(0.03 / Math.sqrt(12), 2);
    expect(Math.exp(of(0, 299)?.size ?? 0)).toBeGreaterThan(10);
  });

  it("use no data of the next session", () => {
    const until = createReturnGrid([mover("A", 0.5), mover("B", 1.5)], "stock", dates[299] ?? "");
    const row = until.rows[1];
    expect(row && exposuresAt(until, row, 299)).toEqual(of(1, 299));
    expect(of(1, 300)?.logVolatility).not.toBe(of(1, 299)?.logVolatility);
  });

  it("are undefined when there are too few bars", () => {
    expect(of(0, 100)).toBeUndefined();
    expect(of(0, 126)).toBeDefined();
  });
});

describe("walk-forward probabilities", () => {
  // Forty sessions of 2023, the last on December 29, and three sessions of 2024.
  const dates = [
    ...Array.from({ length: 40 }, (_, day) =>
      new Date(Date.parse("2023-11-20") + day * DAY_MS).toISOString().slice(0, 10),
    ),
    ...["2024-01-02", "2024-01-03", "2024-01-04"],
  ];
  const grid = createReturnGrid(
    [
      stock(
        "A",
        dates.map((date, index) => [date, 100 + index] as const),
      ),
    ],
    "stock",
    "2024-12-31",
  );
  const outcomes = [0, 40].map((place) => ({
    place,
    date: dates[place] ?? "",
    outcomes: [
      { row: 0, z: 1, call: 0 as const, followed: 0.1 },
      { row: 1, z: -1, call: 0 as const, followed: -0.1 },
    ],
  }));
  const figures = (count: number, value: number) =>
    Array.from({ length: count }, (_, place) => ({ place, value }));
  const daily = { horizon: 1, step: 1 };

  it("use only returns that ended before the forecast year", () => {
    const input = { dates: outcomes, coefficients: figures(40, 0.1), grid, overlap: daily };
    const { years, next, forecasts } = forecastWalkForward(input);
    // The returns of the last two dates of 2023 end in 2024.
    expect(years).toEqual([
      { year: "2023", rho: 0.02, dates: 0 },
      { year: "2024", rho: expect.closeTo(0.06, 12), dates: 38 },
    ]);
    expect(next).toEqual({ rho: expect.closeTo(0.06, 12), dates: 40 });
    expect(forecasts.flat().map(({ outcome }) => outcome)).toEqual([1, 0, 1, 0]);
    const longer = forecastWalkForward({ ...input, overlap: { horizon: 5, step: 5 } });
    expect(longer.years[1]?.dates).toBe(34);
  });

  it("use their own correlation estimate only after thirty independent periods", () => {
    const input = { dates: outcomes, coefficients: figures(29, 0.5), grid, overlap: daily };
    expect(forecastWalkForward(input).next).toEqual({ rho: 0.02, dates: 29 });
    const slow = { ...input, coefficients: figures(40, 0.5), overlap: { horizon: 2, step: 1 } };
    expect(forecastWalkForward(slow).next).toEqual({ rho: 0.02, dates: 40 });
    expect(forecastWalkForward({ ...slow, overlap: daily }).next.rho).toBeCloseTo(0.26, 12);
  });

  it("are not graded for an outcome exactly at the median", () => {
    const [first] = outcomes;
    if (!first) throw new Error("There is no date.");
    const middle = { row: 2, z: 0.5, call: 0 as const, followed: 0 };
    const odd = [{ ...first, outcomes: [...first.outcomes, middle] }];
    const { forecasts } = forecastWalkForward({
      dates: odd,
      coefficients: [],
      grid,
      overlap: daily,
    });
    expect(forecasts.flat().map(({ outcome }) => outcome)).toEqual([1, 0]);
  });

  it("never reverse a score, even if its past correlation was negative", () => {
    const coefficients = figures(40, -0.3);
    const { years } = forecastWalkForward({ dates: outcomes, coefficients, grid, overlap: daily });
    expect(years[1]?.rho).toBe(0);
  });

  it("use the horizon that the service publishes", () => {
    expect(headlineHorizonSessions("composite", "stock")).toBe(5);
    expect(headlineHorizonSessions("composite", "crypto")).toBe(7);
    expect(headlineHorizonSessions("social", "stock")).toBe(1);
  });
});

describe("the search for duplicate and constant instruments", () => {
  const dates = Array.from({ length: 300 }, (_, day) =>
    new Date(Date.parse("2023-01-01") + day * DAY_MS).toISOString().slice(0, 10),
  );
  /**
   * A random walk. `own` is the weight of the noise that instruments with the same seed do not
   * share.
   */
  const walk = (symbol: string, seed: number, { size = 0.02, own = 0, from = 0 } = {}) => {
    let close = 100;
    return stock(
      symbol,
      dates.slice(from).map((date, index) => {
        const day = from + index;
        const common = randomAt(seed, day) - 0.5;
        close *= Math.exp(size * (common + own * (randomAt(seed + 50, day) - 0.5)));
        return [date, close] as const;
      }),
    );
  };
  const found = (...records: readonly InstrumentRecords[]) =>
    findExcludedSymbols(createReturnGrid(records, "stock", "2024-12-31"));

  it("finds the younger of two instruments that move together, in any input order", () => {
    const old = walk("OLD", 1);
    const wrapped = walk("WRAPPED", 1, { own: 0.2, from: 100 });
    expect(found(wrapped, old, walk("OTHER", 2))).toEqual({ copies: ["WRAPPED"], still: [] });
    const alike = walk("ALIKE", 1, { own: 0.5, from: 100 });
    expect(found(alike, old, walk("OTHER", 2))).toEqual({ copies: [], still: [] });
  });

  it("finds duplicates only with enough common history", () => {
    expect(found(walk("OLD", 1), walk("NEW", 1, { from: 250 })).copies).toEqual([]);
    expect(found(walk("OLD", 1), walk("NEW", 1, { from: 230 })).copies).toEqual(["NEW"]);
  });

  it("finds instruments whose price hardly moves compared with the others", () => {
    const others = [walk("A", 1), walk("B", 2), walk("C", 3)];
    expect(found(...others, walk("PEG", 4, { size: 0.0019 })).still).toEqual(["PEG"]);
    expect(found(...others, walk("CALM", 4, { size: 0.003 })).still).toEqual([]);
  });
});

describe("the return of the first session after short volume is published", () => {
  const dates = Array.from({ length: 120 }, (_, day) =>
    new Date(Date.parse("2023-01-01") + day * DAY_MS).toISOString().slice(0, 10),
  );
  /**
   * An instrument whose daytime return has the opposite sign of the previous session's excess short
   * ratio.
   */
  const told = (volumeHour: number): InstrumentRecords => {
    const ratio = (day: number) => 0.5 + 0.2 * (randomAt(3, day) - 0.5);
    const plain = stock(
      "A",
      dates.map((date) => [date, 100] as const),
    );
    const bars = Array.from(plain.bars, (bar, day) => ({
      ...bar,
      open: bar.close * Math.exp(0.1 * (ratio(day - 1) - 0.5)),
    }));
    const shortVolumes = dates.map((session, day) => ({
      session,
      availableAt: Date.parse(session) + (volumeHour / 24) * DAY_MS,
      shortShares: 100_000 * ratio(day),
      totalShares: 100_000,
    }));
    return { ...plain, bars, shortVolumes };
  };
  const coefficients = (record: InstrumentRecords, from = "2023-01-01") =>
    shortRatioNextOpenCorrelations({
      records: [record],
      grid: createReturnGrid([record], "stock", "2024-12-31"),
      graded: new Set([0]),
      ...{ from, seed: 1 },
    });

  it("runs from open to close, and is graded with the sign of the score", () => {
    const values = coefficients(told(22)).map(({ value }) => value);
    expect(values.length).toBeGreaterThan(50);
    expect(values.reduce((sum, value) => sum + value, 0) / values.length).toBeGreaterThan(0.6);
  });

  it("never belongs to a session that was over when the volume became known", () => {
    const early = coefficients(told(22), "2023-03-15");
    expect(early[0]?.place).toBe(dates.indexOf("2023-03-15"));
    // The volume is known only after the next close, when the predicted return has already
    // occurred.
    const late = coefficients(told(24 + 22)).map(({ value }) => value);
    expect(Math.abs(late.reduce((sum, value) => sum + value, 0) / late.length)).toBeLessThan(0.3);
  });
});

describe("the dates that a backtest grades", () => {
  const dates = [...WEEK, "2024-01-08", "2024-01-10", "2024-01-16", "2024-01-17"];
  const grid = createReturnGrid(
    [
      stock(
        "A",
        dates.map((date, index) => [date, 100 + index] as const),
      ),
    ],
    "stock",
    "2024-12-31",
  );
  const labels = (question: Pick<BacktestQuestion, "from" | "pace">) =>
    gradedSessionIndices(grid, question).map((place) => grid.sessions[place]?.label);

  it("are the last sessions of each week, whatever the weekday", () => {
    expect(labels({ from: "2024-01-01", pace: "week" })).toEqual([FRI, "2024-01-10"]);
    expect(labels({ from: "2024-01-06", pace: "week" })).toEqual(["2024-01-10"]);
  });

  it("can be every session except the last, which has no return", () => {
    expect(labels({ from: THU, pace: "session" })).toEqual([
      ...[THU, FRI, "2024-01-08", "2024-01-10", "2024-01-16"],
    ]);
  });

  it("are weekly or every session by default, depending on the subject; the class determines how many sessions a week has", () => {
    expect([defaultPace("composite"), defaultPace("social")]).toEqual(["week", "session"]);
    expect([
      sessionsPerGradedDate("week", "stock"),
      sessionsPerGradedDate("week", "crypto"),
    ]).toEqual([5, 7]);
    expect(sessionsPerGradedDate("session", "etf")).toBe(1);
  });

  it("have a headline horizon that depends on the subject and the class", () => {
    expect(headlineHorizonSessions("momentum", "stock")).toBe(5);
    expect(headlineHorizonSessions("momentum", "crypto")).toBe(7);
    expect(horizonsOf("crypto")).toContain(7);
    expect(headlineHorizonSessions("darkpool", "etf")).toBe(1);
  });

  it("are grouped by year and by thirds of market volatility", () => {
    const figures = [...grid.sessions.keys()].map((place) => ({ place, value: place }));
    expect(slicesByYear(figures, grid, { horizon: 1, step: 1 })).toEqual([
      { label: "2024", dates: 9, mean: 4, t: expect.any(Number) },
    ]);
    expect(slicesByRegime(figures, grid, { horizon: 1, step: 1 })).toEqual([]);
  });
});

describe("the verdict of a backtest", () => {
  const summary = (t: number, change: Partial<SeriesSummary> = {}): SeriesSummary => ({
    ...{ dates: 500, mean: t / 100, sd: 0.1, ratio: 0.1, plainT: t, t },
    interval: { low: (t - 2) / 100, high: (t + 2) / 100 },
    datesForPower: null,
    ...change,
  });
  const weekly = { horizon: 5, step: 5 };

  it("requires thirty independent periods", () => {
    expect(verdictOf(null, weekly, 1)).toBe("insufficient_data");
    expect(verdictOf(summary(9, { dates: 29 }), weekly, 1)).toBe("insufficient_data");
    expect(verdictOf(summary(9, { dates: 149 }), { horizon: 21, step: 5 }, 1)).toBe(
      "insufficient_data",
    );
    expect(verdictOf(summary(9, { dates: 150 }), { horizon: 21, step: 5 }, 1)).toBe("positive");
  });

  it("becomes stronger with t, and requires that the interval excludes zero", () => {
    expect(verdictOf(summary(1.9), weekly, 1)).toBe("no_evidence");
    expect(verdictOf(summary(2.5), weekly, 1)).toBe("weak_positive");
    expect(verdictOf(summary(3.1), weekly, 1)).toBe("positive");
    expect(verdictOf(summary(-2.5), weekly, 1)).toBe("inverted");
    const across = { interval: { low: -0.01, high: 0.05 } };
    expect(verdictOf(summary(3.1, across), weekly, 1)).toBe("no_evidence");
    expect(verdictOf(summary(-3.1, across), weekly, 1)).toBe("no_evidence");
  });

  it("becomes stricter with every variant that was tried", () => {
    expect(deflatedTThreshold(1)).toBeCloseTo(1.959964, 6);
    expect(deflatedTThreshold(40)).toBeCloseTo(3.227218, 5);
    expect(verdictOf(summary(2.5), weekly, 10)).toBe("no_evidence");
    expect(verdictOf(summary(-2.5), weekly, 10)).toBe("no_evidence");
    expect(verdictOf(summary(3.1), weekly, 40)).toBe("no_evidence");
    expect(verdictOf(summary(3.3), weekly, 40)).toBe("positive");
  });
});

describe("backtest variants", () => {
  const question: BacktestQuestion = {
    ...{ subject: "momentum", from: MON, to: FRI, symbols: ["B", "A"], pace: "week", seed: 1 },
  };

  it("have the same name whatever the order of the symbols and the seed", () => {
    const CIRCUMSTANCES = { methodVersion: "1.0.0", dataHash: "ab12" };
    const text = variantOf(question, "stock", CIRCUMSTANCES);
    expect(text).toBe("1.0.0 ab12 momentum stock A+B 2024-01-01..2024-01-05 week");
    expect(variantOf({ ...question, symbols: ["A", "B"], seed: 2 }, "stock", CIRCUMSTANCES)).toBe(
      text,
    );
    expect(variantOf({ ...question, pace: "session" }, "stock", CIRCUMSTANCES)).not.toBe(text);
  });

  it("are counted once each, with the latest figure if a variant was repeated", () => {
    const trials = [
      { variant: "a", sharpePerYear: 9 },
      { variant: "b", sharpePerYear: null },
      { variant: "c", sharpePerYear: 3 },
      { variant: "a", sharpePerYear: 1 },
    ];
    expect(countTrials(trials, "stock")).toEqual({ variants: 3, sharpeSdPerYear: Math.sqrt(2) });
    expect(countTrials([], "stock")).toEqual({ variants: 0, sharpeSdPerYear: 0 });
  });

  it("are counted for their own asset class alone", () => {
    const CIRCUMSTANCES = { methodVersion: "1.0.0", dataHash: "ab12" };
    const trials = (["stock", "crypto"] as const).map((assetClass) => ({
      variant: variantOf(question, assetClass, CIRCUMSTANCES),
      sharpePerYear: null,
    }));
    expect(countTrials(trials, "stock").variants).toBe(1);
    expect(countTrials(trials, "etf").variants).toBe(0);
  });
});
