import { latest } from "../market/point-in-time.ts";
import type { BlockReading } from "./block-pressure.ts";
import { MAX_FEED_AGE_DAYS } from "./off-exchange.ts";
import { type Input, missingReading, type Reading } from "./reading.ts";
import type { ShortReading } from "./short-pressure.ts";

/** Constants of the combination of block imbalance and short ratio. */
export const DARKPOOL_RULES = {
  /** Blocks at which the confidence of the imbalance is half: n / (n + 5). */
  confidenceShrinkage: 5,
  /**
   * Base weights, and the confidence of either part alone. Both are scaled to unit length: z_D =
   * (0.6 z_I - 0.4 z_R) / sqrt(.52). The sign of the short ratio is negative because a high ratio was
   * bearish in measurements, contrary to the DIX interpretation.
   */
  imbalanceWeight: 0.6,
  shortWeight: -0.4,
  /** Sessions for which a short ratio is used: its measured effect lasts one session. */
  maxShortAgeSessions: 1,
  /** Age in days after which the feed of prints is stale. */
  maxFeedAgeDays: MAX_FEED_AGE_DAYS,
} as const;

/** Euclidean norm of the two weights. */
const SCALE = Math.hypot(DARKPOOL_RULES.imbalanceWeight, DARKPOOL_RULES.shortWeight);

/** Measurements of the dark pool factor for one instrument. */
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
  const { imbalanceWeight, shortWeight, confidenceShrinkage } = DARKPOOL_RULES;
  const evidence = blocks / (blocks + confidenceShrinkage);
  if (imbalanceZ !== null && shortZ !== null) {
    const z = (imbalanceWeight * imbalanceZ + shortWeight * shortZ) / SCALE;
    return { z, confidence: evidence };
  }
  if (imbalanceZ !== null) return { z: imbalanceZ, confidence: imbalanceWeight * evidence };
  return shortZ === null ? undefined : { z: -shortZ, confidence: Math.abs(shortWeight) };
}

/** Coverage by feeds, and the instant of the reading. */
export interface DarkpoolContext {
  /** Unix milliseconds. */
  readonly at: number;
  readonly dayMs: number;
  /** Sessions of the class that closed after an instant. */
  readonly closesAfter: (instant: number) => number;
  /** When the newest print or short volume of the whole class became known, `null` for never. */
  readonly feedAt: number | null;
}

/** Off-exchange pressure; unsigned prints are shown by get_darkpool and not scored. */
export function readDarkpool(
  { block, short }: DarkpoolMeasurement,
  { at, dayMs, closesAfter, feedAt }: DarkpoolContext,
): Reading {
  const asOf = latest(block.asOf, short.asOf);
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
  const seen = {
    asOf,
    // A short ratio expires with the session, whose end is not known in advance.
    staleAfter: imbalanceZ === null ? null : asOf + maxAge,
    listInputs: () => darkpoolInputs({ block, short }, imbalanceZ, shortZ),
  };
  const combined = combineDarkpool(imbalanceZ, shortZ, block.blocks);
  if (combined === undefined) return missingReading(whyUnread({ block, short }), seen);
  return { ...combined, status: "ok", ...seen };
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
): Input[] {
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
