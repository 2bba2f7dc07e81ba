import { GOLDEN_RATIO_STEP, mixBits } from "../../statistics/mix-bits.ts";
import { normalQuantile } from "../../statistics/normal.ts";

/** A random number generator: uniform numbers strictly between 0 and 1. */
export type Rng = () => number;

/** Purposes of random numbers; each has its own stream. */
const STREAMS = [
  "profile",
  "market",
  "sector",
  "path",
  "anchor",
  "split",
  "halt",
  "bar",
  "mentions",
  "mood",
  "spam",
  "prints",
  "pressure",
  "short",
  "shortLevel",
  "shortOwn",
  "filing",
  "filingYear",
  "onChain",
] as const;

/**
 * Creates the generator for one purpose, one instrument (0 if the numbers are common to all) and
 * one day, block or segment. The same arguments always give the same numbers, in any process and
 * order.
 */
export type RngFor = (stream: (typeof STREAMS)[number], index: number, day: number) => Rng;

const TWO_POW_32 = 2 ** 32;

/**
 * A generator that scrambles a counter, as in SplitMix (Steele, Lea & Flood, 2014); each key also
 * has its own step.
 */
function counter(key: number): Rng {
  const step = mixBits(key ^ GOLDEN_RATIO_STEP) | 1;
  let state = key;
  return () => {
    state = (state + step) | 0;
    return ((mixBits(state) >>> 0) + 0.5) / TWO_POW_32;
  };
}

/** Creates the generators of one seed. */
export function createRngFor(seed: number): RngFor {
  const root = mixBits(mixBits(seed | 0) ^ Math.floor(seed / TWO_POW_32));
  const purposes = new Map(
    STREAMS.map((stream, position) => [
      stream,
      mixBits(root + Math.imul(position + 1, GOLDEN_RATIO_STEP)),
    ]),
  );
  return (stream, index, day) => {
    const purpose = purposes.get(stream) as number;
    const series = mixBits(purpose + Math.imul(index + 1, GOLDEN_RATIO_STEP));
    return counter(mixBits(series ^ Math.imul(day, 0x27d4eb2f)));
  };
}

/** A standard normal variate. */
export function standardNormal(rng: Rng): number {
  return normalQuantile(rng());
}

/** A uniform integer from 0 through `count` - 1. */
export function uniformInteger(rng: Rng, count: number): number {
  return Math.floor(rng() * count);
}

/** A log-uniform variate between two positive bounds. */
export function logUniform(rng: Rng, [low, high]: readonly [number, number]): number {
  return low * (high / low) ** rng();
}

/**
 * Draws a number of events from the normal approximation of a Poisson distribution with the given
 * mean.
 */
export function eventCount(rng: Rng, mean: number): number {
  return Math.max(0, Math.round(mean + Math.sqrt(mean) * standardNormal(rng)));
}

/** The value clipped to the bounds. */
export function clamp(value: number, [low, high]: readonly [number, number]): number {
  return Math.min(high, Math.max(low, value));
}
