import type { ListedMomentum, MomentumMeasurement } from "../factors/momentum.ts";
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
import { type MeasuredInstrument, type ReadingContext, readCrowd } from "./readings.ts";
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
  measureStock,
  type RankableStock,
  rankClose,
  smoothedScore,
  standingBetween,
} from "./stock-ranking.ts";
import { readStockMomentum, readStockValuation } from "./stock-readings.ts";
import { type StockStanding, scoreAt } from "./stock-score.ts";

/** A stock with its measurements, and the readings of its messages and off-exchange trades. */
interface ObservedStock extends RankableStock {
  readonly measured: MeasuredInstrument;
  readonly crowd: ReturnType<typeof readCrowd>;
  readonly momentum: ListedMomentum | undefined;
}

/** A measurement of momentum as that of a listed instrument, which stocks have. */
const listedMomentum = (momentum: MomentumMeasurement | undefined): ListedMomentum | undefined =>
  momentum !== undefined && "ram" in momentum ? momentum : undefined;

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

function observe(measured: MeasuredInstrument, context: ReadingContext): ObservedStock {
  const crowd = readCrowd(measured, context);
  const { state, measurement } = measured;
  const momentum = listedMomentum(measurement.momentum);
  const raw = measureStock(state, {
    residualMomentum: momentum?.res,
    social: crowd.social.z,
    darkpool: crowd.darkpool.z,
  });
  return { measured, state, crowd, momentum, raw };
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
  all: readonly MeasuredInstrument[],
  context: ReadingContext,
  { isDecided, ...close }: Close & { readonly isDecided: boolean },
): ClosedStocks {
  const { at } = close;
  const stocks = all.map((measured) => observe(measured, context));
  const trading = stocks.filter(({ state }) => state.newestBar?.availableAt === at);
  const resultIn = (tables: CloseTables) => (position: number) =>
    resultOf(stocks[position] as ObservedStock, context, tables);
  const before = context.tables.stocks;
  const recent = all.filter(({ missedSessions }) => missedSessions <= 1).length;
  if (before !== undefined && trading.length < recent / 2) {
    const signalAt = (position: number) => {
      const measured = all[position] as MeasuredInstrument;
      const { mean, smoothed = null } = measured.state.signal ?? {};
      return signalAfter(measured, at, { mean, smoothed });
    };
    return { tables: before, resultAt: resultIn(before), signalAt };
  }
  const { tables: ranked, standings } = rankClose(trading, close);
  for (const { state } of stocks) state.standing = undefined;
  for (const [position, { state }] of trading.entries()) state.standing = standings[position];
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
      return signalAfter(all[position] as MeasuredInstrument, at, { mean, smoothed });
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
): ScoredInstrument => resultOf(observe(measured, context), context, context.tables.stocks);

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
  { measured, state, crowd, momentum, raw }: ObservedStock,
  { at, dayMs }: ReadingContext,
  tables: CloseTables | undefined,
): ScoredInstrument {
  const { missedSessions } = measured;
  const standing =
    tables !== undefined && Number.isFinite(missedSessions)
      ? standingBetween({ state, raw }, tables, state.standing)
      : undefined;
  const time = { at, dayMs, missedSessions };
  const readings = {
    momentum: readStockMomentum(state, momentum, standing, time),
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
