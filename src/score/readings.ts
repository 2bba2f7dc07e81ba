import { readDarkpool } from "../factors/darkpool.ts";
import { readMomentum } from "../factors/momentum.ts";
import { type Reading, unread } from "../factors/reading.ts";
import { readSocial } from "../factors/social.ts";
import { readCoinValuation, readValuation } from "../factors/valuation.ts";
import type { InstrumentRecords } from "../market/records.ts";
import type { Readings } from "./composite.ts";
import type { PeerTables } from "./peers.ts";
import type { Measurement, Track } from "./track.ts";

/** What a reading needs besides the instrument itself. */
export interface ReadingContext {
  /** Unix milliseconds. */
  readonly at: number;
  readonly dayMs: number;
  readonly tables: PeerTables;
  readonly missedSessions: number;
  /** When the newest message, and print or short volume, of the class became known. */
  readonly mentionsAt: number | null;
  readonly printsAt: number | null;
}

/** One instrument as it was followed and measured. */
export interface Observed {
  readonly records: InstrumentRecords;
  readonly track: Track;
  readonly measurement: Measurement;
}

/** Reads the four factors of one instrument. */
export function readFactors(observed: Observed, context: ReadingContext): Readings {
  const { records, track, measurement } = observed;
  const { at, dayMs, tables, missedSessions, mentionsAt, printsAt } = context;
  const { assetClass } = records.instrument;
  const { conversation } = track;
  return {
    momentum: readMomentum(measurement.momentum, {
      at,
      assetClass,
      dayMs,
      tables: tables.momentum,
      missedSessions,
    }),
    valuation: readAnyValuation(observed, context),
    social: readSocial({
      at,
      dayMs,
      hasFeed: records.mentions !== undefined,
      asOf: conversation.newestAt,
      feedAt: mentionsAt,
      counters: conversation.counters,
      baseline: conversation.baseline,
      classNorm: tables.social,
    }),
    darkpool: readDarkpool(measurement.darkpool, {
      at,
      dayMs,
      hasFeed: records.prints !== undefined || records.shortVolumes !== undefined,
      feedAt: printsAt,
    }),
  };
}

function readAnyValuation(
  { records, track, measurement }: Observed,
  { at, dayMs, tables }: ReadingContext,
): Reading {
  const { filings, onChain } = track;
  if (records.onChain !== undefined) return readCoinValuation(onChain, at, dayMs);
  if (records.fundamentals === undefined) return unread("not_observed");
  return readValuation(measurement.valuation, tables.valuation, { filings, at, dayMs });
}
