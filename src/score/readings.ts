import { readDarkpool } from "../factors/darkpool.ts";
import { type MomentumContext, readMomentum } from "../factors/momentum.ts";
import { type Reading, unread } from "../factors/reading.ts";
import { readSocial } from "../factors/social.ts";
import { readValuation } from "../factors/valuation.ts";
import type { Readings } from "./composite.ts";
import type { PeerTables } from "./peers.ts";
import type { Measurement, Track } from "./track.ts";

/** What a reading needs besides the instrument itself; instants in Unix milliseconds. */
export interface ReadingContext {
  readonly at: number;
  readonly dayMs: number;
  readonly tables: PeerTables;
  readonly momentum: MomentumContext;
  /** Sessions of the class that closed after an instant. */
  readonly closesAfter: (instant: number) => number;
  readonly missedSessions: number;
  /** When the newest message, and print or short volume, of the class became known. */
  readonly mentionsAt: number | null;
  readonly printsAt: number | null;
}

/** One instrument as it was followed and measured. */
export interface Observed {
  readonly track: Track;
  readonly measurement: Measurement;
}

/** Reads the four factors of one instrument. */
export function readFactors(observed: Observed, context: ReadingContext): Readings {
  const { track, measurement } = observed;
  const { at, dayMs, tables, missedSessions, mentionsAt, printsAt, closesAfter } = context;
  const { conversation, newestBar } = track;
  return {
    momentum: readMomentum(
      measurement.momentum,
      { asOf: newestBar?.availableAt ?? 0, missedSessions },
      context.momentum,
    ),
    valuation: readAnyValuation(observed, context),
    social: readSocial({
      at,
      dayMs,
      asOf: conversation?.newestAt ?? null,
      feedAt: mentionsAt,
      heard: measurement.heard,
      attention: measurement.attention,
      baseline: conversation?.baseline,
      classNorm: tables.social,
    }),
    darkpool: readDarkpool(measurement.darkpool, { at, dayMs, closesAfter, feedAt: printsAt }),
  };
}

function readAnyValuation(
  { track, measurement }: Observed,
  { at, dayMs, tables, missedSessions }: ReadingContext,
): Reading {
  const { filings, network, instrument } = track;
  if (instrument.assetClass === "crypto") {
    return network?.state.read(at, dayMs) ?? unread("not_observed");
  }
  const time = { filings, at, dayMs, missedSessions };
  return readValuation(measurement.valuation, tables.valuation, time);
}
