import type { BlockReading } from "./block-pressure.ts";
import { MAX_FEED_AGE_DAYS } from "./off-exchange.ts";
import { type Input, type Reading, unread } from "./reading.ts";
import type { ShortReading } from "./short-pressure.ts";

/** Blocks at which the confidence of the imbalance is half: n / (n + 5). */
const CONFIDENCE_SHRINKAGE = 5;
/** Base weights of the two parts; the short ratio counts with a negative sign (method 2.3). */
const IMBALANCE_WEIGHT = 0.6;
const SHORT_WEIGHT = 0.4;
/** Sessions that may close after a short ratio became known: its effect is gone after one. */
const MAX_SHORT_AGE_SESSIONS = 1;

/** What the dark pool factor measures on one instrument. */
export interface DarkpoolMeasurement {
  readonly block: BlockReading;
  readonly short: ShortReading;
}

/**
 * z_D = (0.6 z_I - 0.4 z_R) / sqrt(.52), confidence n/(n+5); the imbalance alone: z_I and
 * 0.6 n/(n+5); the short ratio alone: -z_R and 0.4.
 */
export function combineDarkpool(
  imbalanceZ: number | null,
  shortZ: number | null,
  blocks: number,
): { readonly z: number; readonly confidence: number } | undefined {
  const evidence = blocks / (blocks + CONFIDENCE_SHRINKAGE);
  if (imbalanceZ !== null && shortZ !== null) {
    const scale = Math.hypot(IMBALANCE_WEIGHT, SHORT_WEIGHT);
    const z = (IMBALANCE_WEIGHT * imbalanceZ - SHORT_WEIGHT * shortZ) / scale;
    return { z, confidence: evidence };
  }
  if (imbalanceZ !== null) return { z: imbalanceZ, confidence: IMBALANCE_WEIGHT * evidence };
  return shortZ === null ? undefined : { z: -shortZ, confidence: SHORT_WEIGHT };
}

/** Which feeds cover an instrument, and the instant of the reading. */
export interface DarkpoolContext {
  /** Unix milliseconds. */
  readonly at: number;
  readonly dayMs: number;
  /** Sessions of the class that closed after an instant. */
  readonly closesAfter: (instant: number) => number;
  /** When the newest print or short volume of the whole class became known, `null` for never. */
  readonly feedAt: number | null;
}

/** Off-exchange pressure; prints that cannot be signed are shown by get_darkpool and not scored. */
export function readDarkpool(
  { block, short }: DarkpoolMeasurement,
  { at, dayMs, closesAfter, feedAt }: DarkpoolContext,
): Reading {
  const asOf = latest(block.asOf, short.asOf);
  if (asOf === null) return unread("not_observed");
  const maxAge = MAX_FEED_AGE_DAYS * dayMs;
  const isFresh = (instant: number | null) => instant !== null && at - instant <= maxAge;
  if (!isFresh(asOf)) {
    return unread(isFresh(feedAt) ? "no_activity" : "stale", { asOf });
  }
  const imbalanceZ = isFresh(block.asOf) ? block.z : null;
  const isShortFresh =
    short.ratioAt !== null && closesAfter(short.ratioAt) <= MAX_SHORT_AGE_SESSIONS;
  const shortZ = isShortFresh ? short.z : null;
  const seen = {
    asOf,
    // A short ratio expires with a session, whose end no clock tells beforehand.
    staleAfter: imbalanceZ === null ? null : asOf + maxAge,
    inputs: darkpoolInputs({ block, short }, imbalanceZ, shortZ),
  };
  const combined = combineDarkpool(imbalanceZ, shortZ, block.blocks);
  if (combined === undefined) return unread(whyUnread({ block, short }), seen);
  return { ...combined, status: "ok", ...seen };
}

function whyUnread({ block, short }: DarkpoolMeasurement) {
  if (block.z !== null || short.z !== null) return "stale";
  if (block.imbalance !== null || short.asOf !== null) return "insufficient_data";
  return block.hasBlocks ? "not_observed" : "no_activity";
}

/** The later of two instants, either of which may be missing. */
const latest = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.max(a, b);

function darkpoolInputs(
  { block, short }: DarkpoolMeasurement,
  imbalanceZ: number | null,
  shortZ: number | null,
): Input[] {
  const isBoth = imbalanceZ !== null && shortZ !== null;
  const weightOf = (z: number | null, weight: number) => {
    if (z === null) return 0;
    return isBoth ? weight / Math.hypot(IMBALANCE_WEIGHT, SHORT_WEIGHT) : Math.sign(weight);
  };
  return [
    {
      name: "blockImbalance",
      value: block.imbalance,
      unit: "fraction",
      z: imbalanceZ,
      weight: weightOf(imbalanceZ, IMBALANCE_WEIGHT),
      observedAt: block.asOf,
    },
    {
      name: "shortRatio",
      value: short.ratio,
      unit: "fraction",
      z: shortZ,
      weight: weightOf(shortZ, -SHORT_WEIGHT),
      observedAt: short.ratioAt,
    },
    {
      name: "signedBlocks",
      value: block.blocks,
      unit: "count",
      z: null,
      weight: 0,
      observedAt: block.asOf,
    },
  ];
}
