import { expect, it } from "vitest";
import { gradeRun, type SettledStatement } from "../../../src/grading/run-grade.ts";
import { computeTrackRecordFigures, type GradedRun } from "../../../src/grading/track-record.ts";
import { randomAt } from "../../../src/statistics/random.ts";
import { rankCorrelation } from "../../../src/statistics/rank-correlation.ts";

const SECTORS = ["Energy", "Utilities", null];
const SIGNALS = ["LONG", "WAIT", "SHORT"] as const;
const EXCLUDED = { failed: 0, unscored: 0, untraded: 0, unsettled: 0, copies: 0 };

/** The statements of a session about 45 stocks; the first twelve are of the energy sector. */
const statementsOf = (session: number): readonly SettledStatement[] =>
  Array.from({ length: 45 }, (_, at) => ({
    signal: SIGNALS[Math.floor(3 * randomAt(session, at))] ?? "WAIT",
    score: 100 * randomAt(50 + session, at),
    sector: at < 12 ? "Energy" : (SECTORS[1 + (at % 2)] ?? null),
    sigma: null,
    followed: 0.1 * (randomAt(100 + session, at) - 0.4),
    fromClose: Number.NaN,
  }));

const sessions = Array.from({ length: 8 }, (_, session) => statementsOf(session));

const gradedOf = (all: readonly (readonly SettledStatement[])[]): readonly GradedRun[] =>
  all.map((statements, day) => ({
    ...gradeRun(statements, undefined),
    ...{ close: day, exit: day + 6, isLate: false, excluded: EXCLUDED },
  }));

const mean = (values: readonly number[]) =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

const figures = computeTrackRecordFigures("stock", 5, gradedOf(sessions), 1);

it("a track record splits by signal, without turning the sign of SHORT", () => {
  expect(figures.bySignal.map(({ signal }) => signal)).toEqual(SIGNALS);
  for (const { signal, statements, meanReturn, meanExcess } of figures.bySignal) {
    const own = sessions.map((all) => all.filter((one) => one.signal === signal));
    expect(statements).toBe(own.flat().length);
    const returns = own.map((all) => mean(all.map(({ followed }) => followed)));
    const universes = sessions.map((all) => mean(all.map(({ followed }) => followed)));
    expect(meanReturn).toBeCloseTo(mean(returns), 12);
    const excess = returns.map((value, at) => value - (universes[at] ?? 0));
    expect(meanExcess?.value).toBeCloseTo(mean(excess), 12);
    expect(meanExcess?.low).toBeLessThan(mean(excess));
    expect(meanExcess?.high).toBeGreaterThan(mean(excess));
  }
});

it("a track record splits by sector, the unknown sector last, and its sectors add up to the whole", () => {
  expect(figures.bySector.map(({ sector }) => sector)).toEqual(["Energy", "Utilities", null]);
  const total = (of: (one: (typeof figures.bySector)[0]) => number) =>
    figures.bySector.reduce((sum, one) => sum + of(one), 0);
  expect([total((one) => one.long), total((one) => one.short), total((one) => one.wait)]).toEqual([
    ...[figures.calls.long, figures.calls.short, figures.calls.wait],
  ]);
  const [energy] = figures.bySector;
  const own = sessions.map((all) => all.filter(({ sector }) => sector === "Energy"));
  const coefficients = own.map((all) =>
    rankCorrelation(
      all.map(({ score }) => score),
      all.map(({ followed }) => followed),
    ),
  );
  expect(energy?.ic).toBeCloseTo(mean(coefficients.flatMap((value) => value ?? [])), 12);
  const perRun = own.map((all, at) => {
    const universe = mean((sessions[at] ?? []).map(({ followed }) => followed));
    const called = all.filter(({ signal }) => signal !== "WAIT");
    return mean(
      called.map(({ signal, followed }) => (signal === "LONG" ? 1 : -1) * (followed - universe)),
    );
  });
  expect(energy?.meanExcess).toBeCloseTo(mean(perRun), 12);
});

it("a track record splits nothing of entries that do not say their sector, and no sectors of coins", () => {
  const silent = sessions.map((all) => all.map(({ sector: _, ...one }) => one));
  expect(computeTrackRecordFigures("stock", 5, gradedOf(silent), 1)).toMatchObject({
    ...{ calls: figures.calls, bySignal: [], bySector: [] },
  });
  const coins = sessions.map((all) => all.map((one) => ({ ...one, sector: null })));
  expect(computeTrackRecordFigures("crypto", 5, gradedOf(coins), 1)).toMatchObject({
    ...{ bySignal: figures.bySignal, bySector: [] },
  });
});
