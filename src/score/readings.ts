import { readDarkpool } from "../factors/darkpool.ts";
import { type MomentumContext, readMomentum } from "../factors/momentum.ts";
import { type Reading, unread } from "../factors/reading.ts";
import { readSocial } from "../factors/social.ts";
import { readValuation } from "../factors/valuation.ts";
import type { Readings } from "./composite.ts";
import type { Measurement, Track } from "./instrument-state.ts";
import type { PeerTables } from "./peers.ts";

/** What the readings of a class have in common; instants in Unix milliseconds. */
export interface ReadingContext {
  readonly at: number;
  readonly dayMs: number;
  readonly tables: PeerTables;
  readonly momentum: MomentumContext;
  /** Sessions of the class that closed after an instant. */
  readonly closesAfter: (instant: number) => number;
  /** When the newest message, and print or short volume, of the class became known. */
  readonly mentionsAt: number | null;
  readonly printsAt: number | null;
}

/** One instrument as it was followed and measured. */
export interface Observed {
  readonly track: Track;
  readonly measurement: Measurement;
  /** Sessions of the class since its newest bar; 0 when it is up to date. */
  readonly missedSessions: number;
}

/** Reads the four factors of one instrument. */
export function readFactors(observed: Observed, context: ReadingContext): Readings {
  const { track, measurement, missedSessions } = observed;
  const asOf = track.newestBar?.availableAt ?? 0;
  return {
    momentum: readMomentum(measurement.momentum, { asOf, missedSessions }, context.momentum),
    valuation: readAnyValuation(observed, context),
    social: readConversation(observed, context),
    darkpool: readOffExchange(observed, context),
  };
}

function readAnyValuation(
  { track, measurement, missedSessions }: Observed,
  { at, dayMs, tables }: ReadingContext,
): Reading {
  const { filings, network, yields, instrument } = track;
  if (instrument.assetClass === "crypto") {
    return network?.state.read(at, dayMs) ?? unread("not_observed");
  }
  if (yields === undefined) return unread("not_observed");
  const time = { filings, at, dayMs, missedSessions };
  return readValuation(measurement.valuation, tables.valuation, time);
}

function readConversation(
  { track: { conversation }, measurement: { heard, attention } }: Observed,
  { at, dayMs, tables, mentionsAt }: ReadingContext,
): Reading {
  if (conversation === undefined) return unread("not_observed");
  const { newestAt, baseline } = conversation;
  const feed = { at, dayMs, asOf: newestAt, feedAt: mentionsAt };
  return readSocial({ ...feed, heard, attention, baseline, classNorm: tables.social });
}

function readOffExchange(
  { track: { block, short }, measurement: { darkpool } }: Observed,
  { at, dayMs, closesAfter, printsAt }: ReadingContext,
): Reading {
  if (block === undefined && short === undefined) return unread("not_observed");
  return readDarkpool(darkpool, { at, dayMs, closesAfter, feedAt: printsAt });
}
