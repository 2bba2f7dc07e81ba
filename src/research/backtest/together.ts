import { AssetClass } from "../../market/instrument.ts";
import type { BacktestVerdict } from "../../score/backtest-verdicts.ts";
import {
  type HorizonOverlap,
  type SeriesSummary,
  summarizeSeries,
} from "../../statistics/series-summary.ts";
import { mean } from "../../statistics/statistics.ts";
import { type ClassResult, decisiveIc, type HorizonResult } from "./class-results.ts";
import type { DatedValue } from "./coverage.ts";
import type { BacktestResult } from "./run-backtest.ts";
import type { CoefficientSlice } from "./slices.ts";
import { verdictOf } from "./verdict.ts";

/** The result on one of several market folders. */
export interface SetResult extends BacktestResult {
  /** Name of the set: of its folder. */
  readonly set: string;
}

/** Several market folders in one report: each set apart, and the sets together. */
export interface SetsResult {
  readonly sets: readonly SetResult[];
  /** Classes that at least two sets have. */
  readonly together: readonly TogetherResult[];
}

/**
 * The sets together, over the headline horizon. Each score is compared within its own set, since it
 * was made there: the value of a date is the mean over the sets that have it, weighted by their
 * numbers of instruments.
 */
export interface TogetherResult {
  readonly assetClass: AssetClass;
  readonly horizon: number;
  readonly basis: ClassResult["basis"];
  readonly verdict: BacktestVerdict;
  /** Number of instruments of all sets; those in several sets count in each. */
  readonly instruments: number;
  readonly ic: SeriesSummary | null;
  readonly neutralIc: SeriesSummary | null;
  /** The same graded at every session; `null` if that is the pace of the backtest. */
  readonly everySession: {
    readonly ic: SeriesSummary | null;
    readonly neutralIc: SeriesSummary | null;
  } | null;
  /** The decisive coefficient by calendar year. */
  readonly years: readonly CoefficientSlice[];
}

/** Measures the classes that several sets have in common. */
export const measureTogether = (sets: readonly BacktestResult[]): readonly TogetherResult[] =>
  AssetClass.options.flatMap((assetClass) => {
    const members = sets.flatMap(({ classes }) =>
      classes.filter((one) => one.assetClass === assetClass),
    );
    return members.length < 2 ? [] : [togetherOf(members)];
  });

function togetherOf(members: readonly ClassResult[]): TogetherResult {
  const { assetClass, headline, step } = members[0] as ClassResult;
  const basis = members.every((one) => one.basis === "neutral") ? "neutral" : "raw";
  const weekly = (of: (main: HorizonResult) => readonly DatedValue[]) =>
    pooled(members, (member) => {
      const main = member.horizons.find(({ horizon }) => horizon === headline);
      return main === undefined ? [] : of(main);
    });
  const raw = weekly(({ history }) => history);
  const neutral = weekly(({ neutralHistory }) => neutralHistory);
  const overlap = { horizon: headline, step };
  const [ic, neutralIc] = [summaryOf(raw, overlap), summaryOf(neutral, overlap)];
  const daily = { horizon: headline, step: 1 };
  const everySession = members.every((one) => one.everySession !== null)
    ? {
        ic: summaryOf(
          pooled(members, (member) => member.everySession?.history ?? []),
          daily,
        ),
        neutralIc: summaryOf(
          pooled(members, (member) => member.everySession?.neutralHistory ?? []),
          daily,
        ),
      }
    : null;
  const variants = Math.max(1, ...members.map(({ trials }) => trials.variants));
  return {
    assetClass,
    horizon: headline,
    basis,
    verdict: verdictOf(decisiveIc({ ic, neutralIc }, basis), overlap, variants),
    instruments: members.reduce((sum, { coverage }) => sum + coverage.instruments, 0),
    ic,
    neutralIc,
    everySession,
    years: yearsOf(basis === "neutral" ? neutral : raw, overlap),
  };
}

/** The mean of the sets by date, weighted by their numbers of instruments, oldest date first. */
function pooled(
  members: readonly ClassResult[],
  historyOf: (member: ClassResult) => readonly DatedValue[],
): readonly DatedValue[] {
  const weighted = members.flatMap((member) => {
    const namesAt = namesBefore(member.coverage.history);
    return historyOf(member).map(({ date, value }) => ({ date, value, weight: namesAt(date) }));
  });
  return [...Map.groupBy(weighted, ({ date }) => date)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([date, values]) => {
      const weight = values.reduce((sum, one) => sum + one.weight, 0);
      return {
        date,
        value: values.reduce((sum, one) => sum + one.weight * one.value, 0) / weight,
      };
    });
}

/** The number of instruments with a value on the last graded date up to a date, at least 1. */
function namesBefore(history: readonly DatedValue[]): (date: string) => number {
  let place = 0;
  return (date) => {
    while ((history[place + 1]?.date ?? "9999") <= date) place++;
    return Math.max(1, history[place]?.value ?? 1);
  };
}

const summaryOf = (figures: readonly DatedValue[], overlap: HorizonOverlap) =>
  summarizeSeries(
    figures.map(({ value }) => value),
    overlap,
  ) ?? null;

const yearsOf = (
  figures: readonly DatedValue[],
  overlap: HorizonOverlap,
): readonly CoefficientSlice[] =>
  [...Map.groupBy(figures, ({ date }) => date.slice(0, 4))].map(([label, members]) => ({
    label,
    dates: members.length,
    mean: mean(members.map(({ value }) => value)),
    t: summaryOf(members, overlap)?.t ?? null,
  }));
