import { laterInstant } from "../market/point-in-time.ts";
import type { BlockReading } from "./block-pressure.ts";
import { MAX_FEED_AGE_DAYS } from "./off-exchange.ts";
import { type FactorInput, type FactorReading, missingReading } from "./reading.ts";
import type { ShortReading } from "./short-pressure.ts";

/** Constants of the combination of block imbalance and short ratio. */
export const DARKPOOL_RULES = {
  /** Number of blocks at which the confidence of the imbalance is half: n / (n + 5). */
  confidenceShrinkage: 5,
  /**
   * Weights of the z of the imbalance (z_I) and of the z of the short ratio (z_R), scaled to unit
   * length: z_D = (0.6 z_I - 0.4 z_R) / sqrt(.52). If only one z is known, its absolute weight is a
   * factor of the confidence. The weight of the short ratio is negative because a high ratio was
   * bearish in measurements, contrary to the DIX interpretation.
   */
  imbalanceWeight: 0.6,
  shortWeight: -0.4,
  /** Number of sessions for which a short ratio is used: its measured effect lasts one session. */
  maxShortAgeSessions: 1,
  /** Age of the newest record, in market days, after which the feed is stale. */
  maxFeedAgeDays: MAX_FEED_AGE_DAYS,
} as const;

/** Euclidean norm of the two weights, sqrt(.52). */
const SCALE = Math.hypot(DARKPOOL_RULES.imbalanceWeight, DARKPOOL_RULES.shortWeight);

/** Block imbalance and short ratio of one instrument. */
export interface DarkpoolMeasurement {
  readonly block: BlockReading;
  readonly short: ShortReading;
}

/**
 * Combines the z of the imbalance (z_I) and of the short ratio (z_R); n is the number of blocks.
 * - both known: z_D = (0.6 z_I - 0.4 z_R) / sqrt(.52), confidence n / (n + 5)
 * - only the imbalance: z_I, confidence 0.6 n / (n + 5)
 * - only the short ratio: -z_R, confidence 0.4
 */
export function combineDarkpoolEvidence(
  imbalanceZ: number | null,
  shortZ: number | null,
  blocks: number,
): { readonly z: number; readonly confidence: number } | undefined {
  const { imbalanceWeight, shortWeight, confidenceShrinkage } = DARKPOOL_RULES;
  const evidence = blocks / (blocks + confidenceShrinkage);
  if (imbalanceZ !== null && shortZ !== null) {
    const z = (imbalanceWeight * imbalanceZ + shortWeight * shortZ) / SCALE;
    return { z, confidence: evidence };
  }
  if (imbalanceZ !== null) return { z: imbalanceZ, confidence: imbalanceWeight * evidence };
  return shortZ === null ? undefined : { z: -shortZ, confidence: Math.abs(shortWeight) };
}

/** Instant of a reading, and the state of the feeds. */
export interface DarkpoolContext {
  /** Instant of the reading, Unix milliseconds. */
  readonly at: number;
  readonly dayMs: number;
  /** Number of sessions of the asset class that closed after an instant (Unix milliseconds). */
  readonly closesAfter: (instant: number) => number;
  /**
   * When the newest print or short volume of the whole class became known, Unix milliseconds;
   * `null` if there is none.
   */
  readonly feedAt: number | null;
}

/**
 * Reads the dark pool factor. Prints whose side is unknown are shown by get_darkpool but not
 * scored.
 */
export function computeDarkpoolReading(
  { block, short }: DarkpoolMeasurement,
  { at, dayMs, closesAfter, feedAt }: DarkpoolContext,
): FactorReading {
  const asOf = laterInstant(block.asOf, short.asOf);
  if (asOf === null) return missingReading("not_observed");
  const maxAge = DARKPOOL_RULES.maxFeedAgeDays * dayMs;
  const isFresh = (instant: number | null) => instant !== null && at - instant <= maxAge;
  if (!isFresh(asOf)) {
    return missingReading(isFresh(feedAt) ? "no_activity" : "stale", { asOf });
  }
  const imbalanceZ = isFresh(block.asOf) ? block.z : null;
  const isShortFresh =
    short.ratioAt !== null && closesAfter(short.ratioAt) <= DARKPOOL_RULES.maxShortAgeSessions;
  const shortZ = isShortFresh ? short.z : null;
  // A short ratio expires at the end of the session, an instant that is not known in advance.
  const staleAfter = imbalanceZ === null ? null : asOf + maxAge;
  const listInputs = () => darkpoolInputs({ block, short }, imbalanceZ, shortZ);
  const combined = combineDarkpoolEvidence(imbalanceZ, shortZ, block.blocks);
  if (combined === undefined) {
    return missingReading(whyUnread({ block, short }), { asOf, staleAfter, listInputs });
  }
  const { z, confidence } = combined;
  return { z, confidence, status: "ok", asOf, staleAfter, listInputs };
}

function whyUnread({ block, short }: DarkpoolMeasurement) {
  if (block.z !== null || short.z !== null) return "stale";
  if (block.imbalance !== null || short.asOf !== null) return "insufficient_data";
  return block.hasBlocks ? "not_observed" : "no_activity";
}

function darkpoolInputs(
  { block, short }: DarkpoolMeasurement,
  imbalanceZ: number | null,
  shortZ: number | null,
): FactorInput[] {
  const isBoth = imbalanceZ !== null && shortZ !== null;
  const weightOf = (z: number | null, weight: number) => {
    if (z === null) return 0;
    return isBoth ? weight / SCALE : Math.sign(weight);
  };
  return [
    {
      name: "blockImbalance",
      value: block.imbalance,
      unit: "fraction",
      z: imbalanceZ,
      weight: weightOf(imbalanceZ, DARKPOOL_RULES.imbalanceWeight),
      observedAt: block.asOf,
    },
    {
      name: "shortRatio",
      value: short.ratio,
      unit: "fraction",
      z: shortZ,
      weight: weightOf(shortZ, DARKPOOL_RULES.shortWeight),
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
