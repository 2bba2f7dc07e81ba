import { computeDarkpoolReading } from "../factors/darkpool.ts";
import { computeMomentumReading, type MomentumContext } from "../factors/momentum.ts";
import { type FactorReading, missingReading } from "../factors/reading.ts";
import { computeSocialReading } from "../factors/social.ts";
import type { FactorReadings } from "./composite.ts";
import type { InstrumentMeasurement, InstrumentState } from "./instrument-state.ts";
import type { PeerTables } from "./peers.ts";
import type { RawMeasures } from "./stock-score.ts";

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
  readonly crowd: CrowdReadings;
  /** What is ranked of a stock. */
  readonly raw: RawMeasures;
}

/** The readings of an instrument's messages and off-exchange trades. */
export type CrowdReadings = Pick<FactorReadings, "social" | "darkpool">;

/** Reads the messages and the off-exchange trades of one instrument. */
export const readCrowd = (
  state: InstrumentState,
  measurement: InstrumentMeasurement,
  context: ReadingContext,
): CrowdReadings => ({
  social: readMessages(state, measurement, context),
  darkpool: readOffExchange(state, measurement, context),
});

/** Reads the four factors of one fund or coin. */
export function computeFactorReadings(
  observed: MeasuredInstrument,
  context: ReadingContext,
): FactorReadings {
  const { state, measurement, missedSessions, crowd } = observed;
  const asOf = state.newestBar?.availableAt ?? 0;
  return {
    momentum: computeMomentumReading(
      measurement.momentum,
      { asOf, missedSessions },
      context.momentum,
    ),
    valuation: readNetworkValue(observed, context),
    ...crowd,
  };
}

/** The valuation of a coin by its network; a fund files no results and has none. */
const readNetworkValue = (
  { state: { network } }: MeasuredInstrument,
  { at, dayMs }: ReadingContext,
): FactorReading => network?.accumulator.read(at, dayMs) ?? missingReading("not_observed");

function readMessages(
  { messages }: InstrumentState,
  { sentiment, attention }: InstrumentMeasurement,
  { at, dayMs, tables, mentionsAt }: ReadingContext,
): FactorReading {
  if (messages === undefined) return missingReading("not_observed");
  const { newestAt, baseline } = messages;
  return computeSocialReading({
    at,
    dayMs,
    asOf: newestAt,
    feedAt: mentionsAt,
    sentiment,
    attention,
    baseline,
    classNorm: tables.social,
  });
}

function readOffExchange(
  { block, short }: InstrumentState,
  { darkpool }: InstrumentMeasurement,
  { at, dayMs, closesAfter, printsAt }: ReadingContext,
): FactorReading {
  if (block === undefined && short === undefined) return missingReading("not_observed");
  return computeDarkpoolReading(darkpool, { at, dayMs, closesAfter, feedAt: printsAt });
}
