import { normalQuantile } from "./statistics.ts";

/** A frozen empirical distribution: the value at each probability, both ascending. */
export interface EcdfTable {
  readonly probabilities: readonly number[];
  readonly values: readonly number[];
}

/** The 101 knots of a table: 0.5 %, 1 %, 2 %, ..., 99 %, 99.5 %. The ends cap |z| at 2.576. */
const PROBABILITIES: readonly number[] = [
  0.005,
  ...Array.from({ length: 99 }, (_, index) => (index + 1) / 100),
  0.995,
];

/** Fewer peers than this and a sub-signal uses its absolute form, if it has one. */
const MIN_PEERS = 30;

/**
 * Freezes the cross-section of one sub-signal: Hazen quantiles ((rank - 0.5)/N) at 101 knots.
 *
 * @param values In any order.
 * @returns `undefined` when there are fewer than `minPeers` values.
 */
export function freezeEcdf(
  values: readonly number[],
  minPeers: number = MIN_PEERS,
): EcdfTable | undefined {
  if (values.length < minPeers) return undefined;
  const sorted = Float64Array.from(values).sort();
  return {
    probabilities: PROBABILITIES,
    values: PROBABILITIES.map((p) => hazenQuantile(sorted, p)),
  };
}

function hazenQuantile(sorted: Float64Array, p: number): number {
  const last = sorted.length - 1;
  const position = Math.min(last, Math.max(0, p * sorted.length - 0.5));
  const below = Math.floor(position);
  const low = sorted[below] as number;
  const high = sorted[Math.min(last, below + 1)] as number;
  return low + (high - low) * (position - below);
}

/**
 * The normal score of a value in a frozen distribution: Phi^-1(F(x)), F linear between knots and
 * constant beyond them. A value that several knots share takes the middle of their probabilities.
 */
export function ecdfZ({ probabilities, values }: EcdfTable, value: number): number {
  const above = firstIndex(values, (knot) => knot >= value);
  const beyond = firstIndex(values, (knot) => knot > value);
  const last = values.length - 1;
  const at = (list: readonly number[], index: number) => list[index] as number;

  if (above < beyond) {
    return normalQuantile((at(probabilities, above) + at(probabilities, beyond - 1)) / 2);
  }
  if (above === 0) return normalQuantile(at(probabilities, 0));
  if (above > last) return normalQuantile(at(probabilities, last));

  const low = at(values, above - 1);
  const share = (value - low) / (at(values, above) - low);
  const p = at(probabilities, above - 1);
  return normalQuantile(p + share * (at(probabilities, above) - p));
}

/** Index of the first ascending value that satisfies a monotone test, or the length. */
function firstIndex(values: readonly number[], test: (value: number) => boolean): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (test(values[middle] as number)) high = middle;
    else low = middle + 1;
  }
  return low;
}
