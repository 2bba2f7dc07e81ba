import { type CloseTables, isReferenceStage } from "./close-tables.ts";
import {
  BASE_FACTOR_WEIGHTS,
  type Composite,
  completenessOf,
  FACTORS_BY_CLASS,
  type FactorReadings,
  type FactorSplit,
  NO_SPLIT,
} from "./composite.ts";
import type { MeasuredInstrument, ReadingContext } from "./readings.ts";
import {
  type EvidenceMean,
  nextEvidenceMean,
  nextStockSignal,
  type SignalState,
  type StockSession,
} from "./signal-hysteresis.ts";
import type { StockRanking } from "./snapshot.ts";
import {
  type Close,
  freezeMeans,
  listedMomentum,
  rankClose,
  smoothedScore,
  standingBetween,
} from "./stock-ranking.ts";
import { readStockMomentum, readStockValuation } from "./stock-readings.ts";
import { type StockStanding, scoreAt } from "./stock-score.ts";

/** The score of an instrument, with everything that a snapshot says about it. */
export interface ScoredInstrument {
  readonly readings: FactorReadings;
  readonly composite: Composite;
  readonly split: FactorSplit;
  /** Of stocks only. */
  readonly ranking?: StockRanking | undefined;
}

/** A closed market session, with what its stocks are compared with. */
export interface ClosedStocks {
  readonly tables: CloseTables;
  /** The score of a stock at the close, by its position. */
  readonly resultAt: (position: number) => ScoredInstrument;
  /** The signal of a stock after the session, by its position. */
  readonly signalAt: (position: number) => SignalState;
}

/**
 * Ranks the stocks that traded in a session among each other, and keeps their standings in their
 * states. If less than half of the stocks with a bar at this close or the one before have one at
 * this close, bars are late or missing: tables, standings and means then stay those of the close
 * before, since a few stocks say nothing about the others.
 *
 * @param close.isDecided Whether the session is part of the exponential means; if not, the means
 * are those of the states.
 */
export function closeStocks(
  stocks: readonly MeasuredInstrument[],
  context: ReadingContext,
  { isDecided, ...close }: Close & { readonly isDecided: boolean },
): ClosedStocks {
  const { at } = close;
  const trading = stocks.filter(({ state }) => state.newestBar?.availableAt === at);
  const resultIn = (tables: CloseTables) => (position: number) =>
    resultOf(stocks[position] as MeasuredInstrument, context, tables);
  const before = context.tables.stocks;
  const recent = stocks.filter(({ missedSessions }) => missedSessions <= 1).length;
  if (before !== undefined && trading.length < recent / 2) {
    const signalAt = (position: number) => {
      const measured = stocks[position] as MeasuredInstrument;
      const { mean, smoothed = null } = measured.state.signal ?? {};
      return signalAfter(measured, at, { mean, smoothed });
    };
    return { tables: before, resultAt: resultIn(before), signalAt };
  }
  const { tables: ranked, standings } = rankClose(trading, close);
  for (const { state } of stocks) state.standing = undefined;
  trading.forEach(({ state }, position) => {
    state.standing = standings[position];
  });
  const means = stocks.map(({ state: { standing, signal } }): EvidenceMean | undefined => {
    if (standing === undefined) return undefined;
    return isDecided ? nextEvidenceMean(signal?.mean, standing.z) : signal?.mean;
  });
  const tables = freezeMeans(ranked, means);
  return {
    tables,
    resultAt: resultIn(tables),
    signalAt(position) {
      const mean = means[position];
      const smoothed = smoothedScore(mean, tables);
      return signalAfter(stocks[position] as MeasuredInstrument, at, { mean, smoothed });
    },
  };
}

/** The signal of a stock after a session with this mean and percentile. */
function signalAfter(
  { state, missedSessions }: MeasuredInstrument,
  at: number,
  ranked: Pick<StockSession, "mean" | "smoothed">,
): SignalState {
  const { standing } = state;
  return nextStockSignal(state.signal, {
    at,
    isScored: standing !== undefined && !Number.isNaN(standing.z),
    hasMomentum: standing !== undefined && !Number.isNaN(standing.normals.residualMomentum),
    ...ranked,
    missedSessions,
  });
}

/** The score of a stock between two closes, in the tables of the last one. */
export const scoreBetween = (
  measured: MeasuredInstrument,
  context: ReadingContext,
): ScoredInstrument => resultOf(measured, context, context.tables.stocks);

/** The signal of a stock that is not traded, or that was never scored. */
export const pausedStockSignal = (
  { state, missedSessions }: MeasuredInstrument,
  at: number,
): SignalState =>
  nextStockSignal(state.signal, {
    at,
    isScored: false,
    hasMomentum: false,
    mean: undefined,
    smoothed: null,
    missedSessions,
  });

function resultOf(
  { state, measurement, missedSessions, crowd, raw }: MeasuredInstrument,
  { at, dayMs }: ReadingContext,
  tables: CloseTables | undefined,
): ScoredInstrument {
  const standing =
    tables !== undefined && Number.isFinite(missedSessions)
      ? standingBetween({ state, raw }, tables, state.standing)
      : undefined;
  const time = { at, dayMs, missedSessions };
  const readings = {
    momentum: readStockMomentum(state, listedMomentum(measurement.momentum), standing, time),
    valuation: readStockValuation(state, standing, time),
    ...crowd,
  };
  const place = standing?.place ?? null;
  return {
    readings,
    composite: {
      score: place && scoreAt(place),
      ...completenessOf(readings, BASE_FACTOR_WEIGHTS.stock, FACTORS_BY_CLASS.stock),
    },
    split: standing ?? NO_SPLIT,
    ranking: tables && {
      close: tables.at,
      z: evidenceOf(standing),
      place,
      closeZ: evidenceOf(state.standing),
      isReference: isReferenceStage(tables, "composite"),
    },
  };
}

/** Evidence Z of a standing; `null` without any part. */
const evidenceOf = (standing: StockStanding | undefined): number | null =>
  standing === undefined || Number.isNaN(standing.z) ? null : standing.z;
