import { GOLDEN_RATIO_STEP, mixBits } from "./mix-bits.ts";

/**
 * Counter-based random number: a pure function of seed and index.
 *
 * @param seed Any integer.
 * @param index Position in the sequence, from 0.
 * @returns Uniform in [0, 1), with 32 random bits.
 */
export function randomAt(seed: number, index: number): number {
  return (mixBits(mixBits(seed) + Math.imul(index + 1, GOLDEN_RATIO_STEP)) >>> 0) / 2 ** 32;
}

/** A seeded random permutation (Fisher and Yates); does not modify the input. */
export function shuffled<T>(values: readonly T[], seed: number): readonly T[] {
  const order = [...values];
  for (let last = order.length - 1; last > 0; last--) {
    const other = Math.floor(randomAt(seed, last) * (last + 1));
    [order[last], order[other]] = [order[other] as T, order[last] as T];
  }
  return order;
}
