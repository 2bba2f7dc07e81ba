import { readDarkpool } from "../factors/darkpool.ts";
import { type MomentumContext, readMomentum } from "../factors/momentum.ts";
import { missingReading, type Reading } from "../factors/reading.ts";
import { readSocial } from "../factors/social.ts";
import { readValuation } from "../factors/valuation.ts";
import type { Readings } from "./composite.ts";
import type { InstrumentState, Measurement } from "./instrument-state.ts";
import type { PeerTables } from "./peers.ts";

/** Context shared by the readings of a class; instants in Unix milliseconds. */
export interface ReadingContext {
  readonly at: number;
  readonly dayMs: number;
  /** See `RecordSeries`. */
  readonly series: string;
  readonly tables: PeerTables;
  readonly momentum: MomentumContext;
  /** Sessions of the class that closed after an instant. */
  readonly closesAfter: (instant: number) => number;
  /** When the newest message, and the newest print or short volume, of the class became known. */
  readonly mentionsAt: number | null;
  readonly printsAt: number | null;
}

/** One instrument with its state and its measurement. */
export interface MeasuredInstrument {
  readonly state: InstrumentState;
  readonly measurement: Measurement;
  /** Sessions of the class since the instrument's newest bar; 0 when it is up to date. */
  readonly missedSessions: number;
}

/** Reads the four factors of one instrument. */
export function readFactors(observed: MeasuredInstrument, context: ReadingContext): Readings {
  const { state, measurement, missedSessions } = observed;
  const asOf = state.newestBar?.availableAt ?? 0;
  return {
    momentum: readMomentum(measurement.momentum, { asOf, missedSessions }, context.momentum),
    valuation: readAnyValuation(observed, context),
    social: readMessages(observed, context),
    darkpool: readOffExchange(observed, context),
  };
}

function readAnyValuation(
  { state, measurement, missedSessions }: MeasuredInstrument,
  { at, dayMs, tables }: ReadingContext,
): Reading {
  const { filings, network, yields, instrument } = state;
  if (instrument.assetClass === "crypto") {
    return network?.accumulator.read(at, dayMs) ?? missingReading("not_observed");
  }
  if (yields === undefined) return missingReading("not_observed");
  const time = { filings, at, dayMs, missedSessions };
  return readValuation(measurement.valuation, tables.valuation, time);
}

function readMessages(
  { state: { messages }, measurement: { sentiment, attention } }: MeasuredInstrument,
  { at, dayMs, tables, mentionsAt }: ReadingContext,
): Reading {
  if (messages === undefined) return missingReading("not_observed");
  const { newestAt, baseline } = messages;
  const feed = { at, dayMs, asOf: newestAt, feedAt: mentionsAt };
  return readSocial({ ...feed, sentiment, attention, baseline, classNorm: tables.social });
}

function readOffExchange(
  { state: { block, short }, measurement: { darkpool } }: MeasuredInstrument,
  { at, dayMs, closesAfter, printsAt }: ReadingContext,
): Reading {
  if (block === undefined && short === undefined) return missingReading("not_observed");
  return readDarkpool(darkpool, { at, dayMs, closesAfter, feedAt: printsAt });
}
