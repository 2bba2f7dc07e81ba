import { readDarkpool } from "../factors/darkpool.ts";
import { readMomentum } from "../factors/momentum.ts";
import type { Reading } from "../factors/reading.ts";
import { readSocial } from "../factors/social.ts";
import { readValuation } from "../factors/valuation.ts";
import type { AssetClass } from "../market/instrument.ts";
import type { Readings } from "./composite.ts";
import type { PeerTables } from "./peers.ts";
import type { Measurement, Track } from "./track.ts";

/** What a reading needs besides the instrument itself. */
export interface ReadingContext {
  /** Unix milliseconds. */
  readonly at: number;
  readonly dayMs: number;
  readonly tables: PeerTables;
  /** Sessions of the class that closed after an instant. */
  readonly closesAfter: (instant: number) => number;
  readonly missedSessions: number;
  /** When the newest message, and print or short volume, of the class became known. */
  readonly mentionsAt: number | null;
  readonly printsAt: number | null;
}

/** One instrument as it was followed and measured. */
export interface Observed {
  readonly assetClass: AssetClass;
  readonly track: Track;
  readonly measurement: Measurement;
}

/** Reads the four factors of one instrument. */
export function readFactors(observed: Observed, context: ReadingContext): Readings {
  const { assetClass, track, measurement } = observed;
  const { at, dayMs, tables, missedSessions, mentionsAt, printsAt, closesAfter } = context;
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
      asOf: conversation.newestAt,
      feedAt: mentionsAt,
      heard: measurement.heard,
      baseline: conversation.baseline,
      classNorm: tables.social,
    }),
    darkpool: readDarkpool(measurement.darkpool, { at, dayMs, closesAfter, feedAt: printsAt }),
  };
}

function readAnyValuation(
  { assetClass, track, measurement }: Observed,
  { at, dayMs, tables, missedSessions }: ReadingContext,
): Reading {
  const { filings, networkValue } = track;
  if (assetClass === "crypto") return networkValue.read(at, dayMs);
  const context = { filings, at, dayMs, missedSessions };
  return readValuation(measurement.valuation, tables.valuation, context);
}
