import type { AssetClass } from "../../src/market/instrument.ts";
import type { ClassResult, HorizonResult } from "../../src/research/backtest/class-results.ts";
import type { RankBook } from "../../src/research/backtest/rank-book.ts";
import type { BacktestResult } from "../../src/research/backtest/run-backtest.ts";
import type { CoefficientSlice } from "../../src/research/backtest/slices.ts";
import type { ConfidenceInterval } from "../../src/statistics/bootstrap.ts";
import type { SeriesSummary } from "../../src/statistics/series-summary.ts";

/** A set of instruments and dates on which the product's evidence is measured. */
export interface EvidenceSet {
  readonly set: string;
  /** Which of the two market folders. */
  readonly folder: "market" | "market-wide";
  readonly from: string;
  readonly to: string;
  /** The classes whose figures are kept, with their instruments in words. */
  readonly universes: Readonly<Partial<Record<AssetClass, string>>>;
}

/**
 * `select` are the dates on which the parts of the score were chosen, `confirm` later dates of the
 * same stocks, `wide` other stocks of the same years; `whole` has the classes with older rules.
 */
export const EVIDENCE_SETS: readonly EvidenceSet[] = [
  {
    set: "select",
    folder: "market",
    from: "2014-07-01",
    to: "2018-12-31",
    universes: { stock: "large US stocks" },
  },
  {
    set: "confirm",
    folder: "market",
    from: "2019-01-01",
    to: "2024-12-31",
    universes: { stock: "large US stocks" },
  },
  {
    set: "wide",
    folder: "market-wide",
    from: "2014-07-01",
    to: "2022-04-10",
    universes: { stock: "mid and small US stocks" },
  },
  {
    set: "whole",
    folder: "market",
    from: "2014-07-01",
    to: "2024-12-31",
    universes: { stock: "large US stocks", etf: "funds", crypto: "coins" },
  },
];

/** The options of the backtest of a set. */
export const optionsOf = ({ folder, from, to }: EvidenceSet, place: string = folder) =>
  ["backtest", "--market", place, "--from", from, "--to", to] as const;

/** The figures of one set that the product speaks of, from the JSON output of its backtest. */
export const figuresOf = (set: EvidenceSet, result: BacktestResult) => ({
  set: set.set,
  command: `market-signal ${optionsOf(set).join(" ")}`,
  methodVersion: result.methodVersion,
  dataHash: result.dataHash,
  classes: result.classes.flatMap((one) => {
    const words = set.universes[one.assetClass];
    return words === undefined ? [] : [classFigures(one, words, set)];
  }),
});

function classFigures(result: ClassResult, words: string, { from, to }: EvidenceSet) {
  const { assetClass, headline, basis, verdict, coverage, compared, everySession } = result;
  const main = result.horizons.find(({ horizon }) => horizon === headline) as HorizonResult;
  const { history } = main;
  const month = (date: string) => date.slice(0, 7);
  const { probabilities } = result;
  return {
    assetClass,
    universe: `${coverage.instruments.toLocaleString("en-US")} ${words}`,
    period: `${month(history[0]?.date ?? from)}/${month(to)}`,
    horizon: headline,
    basis,
    verdict,
    score: coefficients(main),
    candidate: compared && coefficients(compared),
    everySession: everySession && coefficients(everySession),
    claim: summary(result.claim),
    thirds: main.neutralThirds.map(slice),
    years: main.neutralYears.map(slice),
    fifths: main.quintiles && book(main.quintiles),
    tenths: main.book && book(main.book),
    beatMedian: result.tenths?.tenths.map(({ beatMedian }) => rounded(beatMedian)) ?? null,
    probability: probabilities && {
      skill: rounded(probabilities.skill),
      interval: interval(probabilities.skillInterval),
    },
    steadiness: result.steadiness.map(({ horizon, ic, chance }) => ({
      horizon,
      ic: summary(ic),
      chance: chance && {
        skill: rounded(chance.skill),
        interval: interval(chance.skillInterval),
        largestGap: rounded(chance.largestGap),
        withheld: chance.withheld,
      },
    })),
  };
}

const coefficients = (one: Pick<HorizonResult, "ic" | "neutralIc">) => ({
  neutral: summary(one.neutralIc),
  raw: summary(one.ic),
});

const summary = (one: SeriesSummary | null) =>
  one && {
    mean: rounded(one.mean),
    interval: interval(one.interval),
    t: rounded(one.t),
    dates: one.dates,
  };

const interval = (one: ConfidenceInterval | null) =>
  one && { low: rounded(one.low), high: rounded(one.high) };

const slice = ({ label, mean, t }: CoefficientSlice) => ({
  label,
  mean: rounded(mean),
  t: t === null ? null : rounded(t),
});

const book = ({ net, spread, breakEvenBp, turnover }: RankBook) => ({
  net: net.map(({ costBp, mean }) => ({ costBp, mean: rounded(mean) })),
  t: rounded(spread.t),
  breakEvenBp: breakEvenBp === null ? null : rounded(breakEvenBp),
  turnover: rounded(turnover),
});

/** Figures are kept to five decimals: no more is ever shown. */
const rounded = (value: number): number => Math.round(1e5 * value) / 1e5;
