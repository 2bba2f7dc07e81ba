import { normalQuantile } from "./normal.ts";
import { countBelow } from "./statistics.ts";

/**
 * An empirical distribution that no longer changes: the value at each probability; both lists are
 * ascending.
 */
export interface EcdfTable {
  readonly probabilities: readonly number[];
  readonly values: readonly number[];
}

/**
 * The 101 probabilities (knots) of a table: 0.5 %, 1 %, 2 %, ..., 99 %, 99.5 %. The ends limit |z|
 * to 2.576.
 */
export const ECDF_PROBABILITIES: readonly number[] = [
  0.005,
  ...Array.from({ length: 99 }, (_, index) => (index + 1) / 100),
  0.995,
];

/**
 * Minimum size of a peer group. In a smaller group, a sub-signal whose own value can serve as its
 * z, such as a risk-adjusted return, is used without comparison.
 */
export const MIN_PEER_GROUP_SIZE = 30;

/**
 * Computes the distribution of one sub-signal over a peer group: Hazen quantiles ((rank - 0.5)/N)
 * at 101 knots.
 *
 * @param values Values in any order.
 * @returns `undefined` if there are fewer than `minPeers` values.
 */
export function freezeEcdfTable(
  values: readonly number[],
  minPeers: number = MIN_PEER_GROUP_SIZE,
): EcdfTable | undefined {
  if (values.length < minPeers) return undefined;
  const sorted = new Float64Array(values).sort();
  return {
    probabilities: ECDF_PROBABILITIES,
    values: ECDF_PROBABILITIES.map((p) => hazenQuantile(sorted, p)),
  };
}

function hazenQuantile(sorted: Float64Array, p: number): number {
  const last = sorted.length - 1;
  const position = Math.min(last, Math.max(0, p * sorted.length - 0.5));
  const below = Math.floor(position);
  const low = sorted[below] as number;
  const high = sorted[Math.min(last, below + 1)] as number;
  // Halving both values first keeps the difference of two huge values finite.
  return 2 * (low / 2 + (high / 2 - low / 2) * (position - below));
}

/** The normal score of a value in the distribution F of a table: Phi^-1(F(value)). */
export const ecdfZ = (table: EcdfTable, value: number): number =>
  normalQuantile(probabilityOf(table, value));

/** The value at probability `p`: linear between knots, constant beyond the first and last knot. */
export function quantileOf({ probabilities, values }: EcdfTable, p: number): number {
  const above = Math.min(Math.max(1, countBelow(probabilities, p)), values.length - 1);
  const [lowP, highP] = [probabilities[above - 1] as number, probabilities[above] as number];
  const [low, high] = [values[above - 1] as number, values[above] as number];
  const share = Math.min(1, Math.max(0, (p - lowP) / (highP - lowP)));
  return low + share * (high - low);
}

/**
 * F(value), where F is the distribution function of the table: linear between distinct knots and
 * constant beyond the first and last knot. Knots with equal values share the mean of their
 * probabilities, also in the interpolation between two knots. So F has no jumps, and a rounding
 * error in the last digit of a value never moves its score.
 */
export function probabilityOf(table: EcdfTable, value: number): number {
  const { values } = table;
  const above = Math.min(countBelow(values, value), values.length - 1);
  const high = values[above] as number;
  const highP = sharedProbability(table, above);
  if (above === 0 || value >= high) return highP;

  const low = values[above - 1] as number;
  const lowP = sharedProbability(table, above - 1);
  return lowP + ((value / 2 - low / 2) / (high / 2 - low / 2)) * (highP - lowP);
}

/**
 * Mean of the first and last probability of all knots whose value equals the value of the knot at
 * `index`.
 */
function sharedProbability({ probabilities, values }: EcdfTable, index: number): number {
  let first = index;
  let last = index;
  while (values[first - 1] === values[index]) first--;
  while (values[last + 1] === values[index]) last++;
  return ((probabilities[first] as number) + (probabilities[last] as number)) / 2;
}
