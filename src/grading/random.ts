/** Odd constant near 2^32 divided by the golden ratio, which spreads consecutive counters. */
const STRIDE = 0x9e3779b9;

/**
 * Counter-based random number: a pure function of seed and index.
 *
 * @param seed Any integer.
 * @param index Position in the sequence, from 0.
 * @returns Uniform in [0, 1), with 32 random bits.
 */
export function randomAt(seed: number, index: number): number {
  return scrambled(scrambled(seed) + Math.imul(index + 1, STRIDE)) / 2 ** 32;
}

/** Mixes the bits of a 32-bit number (MurmurHash3 finalizer). */
function scrambled(value: number): number {
  let bits = value | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
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
