// @module-tag nightly

import { describe, expect, it } from "vitest";
import { nextReport, quarterlyFilings } from "../../../src/factors/next-report.ts";
import { reportWindows } from "../../../src/factors/report-windows.ts";
import { mean } from "../../../src/factors/statistics.ts";
import { summarizeSeries } from "../../../src/grading/series-summary.ts";
import { countKnown } from "../../../src/market/point-in-time.ts";
import type { InstrumentRecords } from "../../../src/market/records.ts";
import { gradedDates } from "../../../src/research/backtest/question.ts";
import { createReturnGrid, type GridRow } from "../../../src/research/backtest/return-grid.ts";
import { forecastSigma, sessionVariances } from "../../../src/risk/forecast.ts";
import { FITTED_BEFORE, RISK_TABLE } from "../../../src/risk/measured-table.ts";
import { rangeOf } from "../../../src/risk/ranges.ts";
import { readMarketFolder } from "../../../src/sources/files/market-folder.ts";
import { sharedFolder } from "../../support/shared.ts";

const { path, isMissing } = sharedFolder("market", "volatility around reports on real history");

/** Reading the folder and grading it, on a busy machine. */
const TIMEOUT_MS = 240_000;

const DAY_MS = 86_400_000;

/** Forecasts from here on fit the multipliers, and from `GRADED_FROM` on are graded. Bars of stocks
 *  begin in 2013, and a forecast needs 252 of them. */
const [FITTED_FROM, GRADED_FROM, UNTIL] = ["2014-01-01", "2015-01-01", "2024-12-31"];

/** Sessions around the predicted day that have a multiplier. */
const REACH = 10;

/** A volatility forecast at the close of a session, and what followed. */
interface Observation {
  readonly place: number;
  readonly date: string;
  readonly returns: GridRow["returns"];
  /** Standard deviation of a session. */
  readonly sigma: number;
  /** Index of the session on which the next report was expected, as known at `date`. */
  readonly expected: number | undefined;
}

/** Multipliers of a session's variance, by sessions from the predicted day. */
type Multipliers = ReadonlyMap<number, number>;

/** Whether the multipliers of report days make the volatility forecast better. */
describe.skipIf(isMissing)("volatility around reports", { timeout: TIMEOUT_MS }, async () => {
  const market = isMissing ? undefined : await readMarketFolder(path);
  const records = market?.recordsUntil(Number.POSITIVE_INFINITY) ?? [];
  const grid = createReturnGrid(records, "stock", UNTIL);
  const labels = grid.sessions.map(({ label }) => label);
  const places = gradedDates(grid, { from: FITTED_FROM, pace: "week" });
  const windows = reportWindows({ simulated: false });
  /** The session on a day, or after it. */
  const placeOf = (day: string) => labels.findIndex((label) => label >= day);

  const observe = ({ bars, fundamentals }: InstrumentRecords, { returns }: GridRow) => {
    const variances = sessionVariances(bars);
    const filings = quarterlyFilings(fundamentals ?? [], DAY_MS);
    return places.flatMap((place): Observation[] => {
      const close = grid.sessions[place]?.close ?? 0;
      const sigma = forecastSigma("blend", variances, countKnown(variances.bars, close));
      if (sigma === undefined || Number.isNaN(returns[place])) return [];
      const next = nextReport(filings, close, windows, DAY_MS);
      const day = next.is === "unknown" ? undefined : next.report.expected - DAY_MS / 2;
      const expected = day && placeOf(new Date(day).toISOString().slice(0, FITTED_FROM.length));
      return [{ place, date: labels[place] as string, returns, sigma, expected }];
    });
  };
  const observations = grid.rows.flatMap((row) => {
    const found = records.find(({ instrument }) => instrument === row.instrument);
    return observe(found as InstrumentRecords, row);
  });

  /** Sessions of a horizon as places and their distances from the predicted day. */
  const ahead = ({ place, expected }: Observation, horizon: number) =>
    Array.from({ length: horizon }, (_, index) => {
      const session = place + index + 1;
      return { session, distance: expected === undefined ? undefined : session - expected };
    });

  /** Mean squared return over the forecast by distance, against that of all other sessions. */
  const multipliersOf = (horizon: number, before: string): Multipliers => {
    const ratios = new Map<number | undefined, { sum: number; count: number }>();
    const ended = observations.filter(({ place }) => (labels[place + horizon] ?? "9") < before);
    for (const one of ended) {
      for (const { session, distance } of ahead(one, horizon)) {
        const followed = one.returns[session] as number;
        if (Number.isNaN(followed)) continue;
        const isNear = distance !== undefined && Math.abs(distance) <= REACH;
        const key = isNear ? distance : undefined;
        const found = ratios.get(key) ?? { sum: 0, count: 0 };
        ratios.set(key, found);
        found.sum += (followed / one.sigma) ** 2;
        found.count++;
      }
    }
    const meanOf = (key?: number) => {
      const { sum, count } = ratios.get(key) ?? { sum: 0, count: 0 };
      return sum / count;
    };
    const near = [...ratios.keys()].filter((key) => key !== undefined);
    return new Map(near.map((distance) => [distance, meanOf(distance) / meanOf()]));
  };

  const varianceOf = (one: Observation, horizon: number, multipliers?: Multipliers) =>
    one.sigma ** 2 *
    ahead(one, horizon)
      .map(({ distance }) => multipliers?.get(distance ?? Number.NaN) ?? 1)
      .reduce((sum, factor) => sum + factor, 0);

  const returnsOf = ({ returns, place }: Observation, horizon: number) => [
    ...returns.slice(place + 1, place + 1 + horizon),
  ];

  const qlike = (ratio: number) => ratio - Math.log(ratio) - 1;

  /** QLIKE without and with multipliers fitted before each year, and t of the difference by date. */
  const compare = (horizon: number, from: string, to: string) => {
    const byYear = new Map<string, Multipliers>();
    const losses = observations.flatMap((one) => {
      const followed = returnsOf(one, horizon);
      const variance = followed.reduce((sum, value) => sum + value ** 2, 0);
      const end = labels[one.place + horizon];
      if (one.date < from || end === undefined || end > to || !(variance > 0)) return [];
      const year = one.date.slice(0, 4);
      const multipliers = byYear.get(year) ?? multipliersOf(horizon, year);
      byYear.set(year, multipliers);
      const without = qlike(variance / varianceOf(one, horizon));
      const loss = qlike(variance / varianceOf(one, horizon, multipliers));
      return [{ place: one.place, without, loss }];
    });
    const differences = [...Map.groupBy(losses, ({ place }) => place)]
      .sort(([a], [b]) => a - b)
      .map(([, members]) => mean(members.map(({ loss, without }) => loss - without)));
    return {
      without: Number(mean(losses.map(({ without }) => without)).toFixed(3)),
      loss: Number(mean(losses.map(({ loss }) => loss)).toFixed(3)),
      t: Number(summarizeSeries(differences, { horizon, step: 5 }, 1)?.t.toFixed(1)),
    };
  };

  const inBothPeriods = (horizon: number) =>
    [compare(horizon, GRADED_FROM, FITTED_BEFORE), compare(horizon, FITTED_BEFORE, UNTIL)] as const;

  it("is forecast better over 5 sessions with multipliers, in both periods", () => {
    const [early, late] = inBothPeriods(5);
    expect(early).toEqual({ without: 0.553, loss: 0.538, t: -4.3 });
    expect(late).toEqual({ without: 0.532, loss: 0.509, t: -3.7 });
  });

  it("is not forecast significantly better over 21 sessions: t is above -2 in the later period", () => {
    const [early, late] = inBothPeriods(21);
    expect(early.t).toBe(-2.5);
    expect(late.t).toBeGreaterThan(-2);
  });

  it("makes the published range too narrow where a report is expected within it", () => {
    const horizon = 5;
    const quantiles = RISK_TABLE.classes.stock[0]?.quantiles ?? [];
    const spanning = observations.filter(
      (one) =>
        one.date >= FITTED_BEFORE &&
        ahead(one, horizon).some(({ distance }) => distance === 0) &&
        !returnsOf(one, horizon).some(Number.isNaN) &&
        one.place + horizon < labels.length,
    );
    const heldIn = (share: 0.8 | 0.95) => {
      const isWithin = (one: Observation) => {
        const sum = returnsOf(one, horizon).reduce((total, value) => total + value, 0);
        const { low, high } = rangeOf(quantiles, share, Math.sqrt(varianceOf(one, horizon)));
        return sum >= low && sum <= high;
      };
      return Number((spanning.filter(isWithin).length / spanning.length).toFixed(3));
    };
    expect([spanning.length, heldIn(0.8), heldIn(0.95)]).toEqual([6_460, 0.685, 0.87]);
  });

  it("is 2.6 times as high on the predicted day", () => {
    const multipliers = multipliersOf(5, FITTED_BEFORE);
    const at = (distance: number) => Number(multipliers.get(distance)?.toFixed(2));
    const distances = [-10, -5, -2, -1, 0, 1, 2, 5, 7, 10];
    const known = [1.25, 1.51, 1.26, 1.65, 2.63, 1.94, 1.45, 1.51, 1.15, 1.21];
    expect(distances.map(at)).toEqual(known);
  });
});
