/** Odd constant near 2^32 divided by the golden ratio, which spreads consecutive counters. */
export const GOLDEN_RATIO_STEP = 0x9e3779b9;

/**
 * Mixes the 32 bits of a number, so that every input bit affects every output bit (MurmurHash3
 * finalizer).
 * @returns A signed 32-bit integer.
 */
export function mixBits(value: number): number {
  let mixed = value ^ (value >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
