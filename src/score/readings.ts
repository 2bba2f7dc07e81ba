import { computeDarkpoolReading } from "../factors/darkpool.ts";
import { computeMomentumReading, type MomentumContext } from "../factors/momentum.ts";
import { type FactorReading, missingReading } from "../factors/reading.ts";
import { computeSocialReading } from "../factors/social.ts";
import { computeValuationReading } from "../factors/valuation.ts";
import type { FactorReadings } from "./composite.ts";
import type { InstrumentMeasurement, InstrumentState } from "./instrument-state.ts";
import type { PeerTables } from "./peers.ts";

/** Context of the readings of a class; instants are in Unix milliseconds. */
export interface ReadingContext {
  readonly at: number;
  readonly dayMs: number;
  /** Series of the records known at `at` (see `RecordSeries`). */
  readonly series: string;
  readonly tables: PeerTables;
  readonly momentum: MomentumContext;
  /** Number of sessions of the class that closed after an instant. */
  readonly closesAfter: (instant: number) => number;
  /**
   * When the newest message of the class, and its newest print or short volume, became known;
   * `null` if there is none.
   */
  readonly mentionsAt: number | null;
  readonly printsAt: number | null;
}

/** An instrument's state, with its measurement and the age of its price. */
export interface MeasuredInstrument {
  readonly state: InstrumentState;
  readonly measurement: InstrumentMeasurement;
  /** Sessions of the class since the instrument's newest bar; 0 if the price is current. */
  readonly missedSessions: number;
}

/** Reads the four factors of one instrument. */
export function computeFactorReadings(
  observed: MeasuredInstrument,
  context: ReadingContext,
): FactorReadings {
  const { state, measurement, missedSessions } = observed;
  const asOf = state.newestBar?.availableAt ?? 0;
  return {
    momentum: computeMomentumReading(
      measurement.momentum,
      { asOf, missedSessions },
      context.momentum,
    ),
    valuation: readAnyValuation(observed, context),
    social: readMessages(observed, context),
    darkpool: readOffExchange(observed, context),
  };
}

function readAnyValuation(
  { state, measurement, missedSessions }: MeasuredInstrument,
  { at, dayMs, tables }: ReadingContext,
): FactorReading {
  const { filings, network, yields, instrument } = state;
  if (instrument.assetClass === "crypto") {
    return network?.accumulator.read(at, dayMs) ?? missingReading("not_observed");
  }
  if (yields === undefined) return missingReading("not_observed");
  const time = { filings, at, dayMs, missedSessions };
  return computeValuationReading(measurement.valuation, tables.valuation, time);
}

function readMessages(
  { state: { messages }, measurement: { sentiment, attention } }: MeasuredInstrument,
  { at, dayMs, tables, mentionsAt }: ReadingContext,
): FactorReading {
  if (messages === undefined) return missingReading("not_observed");
  const { newestAt, baseline } = messages;
  const feed = { at, dayMs, asOf: newestAt, feedAt: mentionsAt };
  return computeSocialReading({
    ...feed,
    sentiment,
    attention,
    baseline,
    classNorm: tables.social,
  });
}

function readOffExchange(
  { state: { block, short }, measurement: { darkpool } }: MeasuredInstrument,
  { at, dayMs, closesAfter, printsAt }: ReadingContext,
): FactorReading {
  if (block === undefined && short === undefined) return missingReading("not_observed");
  return computeDarkpoolReading(darkpool, { at, dayMs, closesAfter, feedAt: printsAt });
}
