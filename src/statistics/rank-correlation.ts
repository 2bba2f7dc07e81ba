/**
 * Ranks of values, 1 for the smallest; equal values share the mean of their ranks.
 *
 * @param values Finite numbers in any order.
 */
export function ranks(values: readonly number[]): Float64Array {
  const order = Float64Array.from(values.keys()).sort(
    (a, b) => (values[a] as number) - (values[b] as number),
  );
  const ranked = new Float64Array(values.length);
  let first = 0;
  while (first < order.length) {
    const value = values[order[first] as number];
    let beyond = first + 1;
    while (beyond < order.length && values[order[beyond] as number] === value) beyond++;
    const shared = (first + 1 + beyond) / 2;
    for (; first < beyond; first++) ranked[order[first] as number] = shared;
  }
  return ranked;
}

/**
 * Values standardized to mean 0 and population standard deviation 1.
 *
 * @returns `undefined` if all values are equal.
 */
function standardized(values: Float64Array): Float64Array | undefined {
  let sum = 0;
  for (const value of values) sum += value;
  const center = sum / values.length;
  let squares = 0;
  for (const value of values) squares += (value - center) ** 2;
  if (!(squares > 0)) return undefined;
  const scale = Math.sqrt(squares / values.length);
  return values.map((value) => (value - center) / scale);
}

/** Minimum number of pairs for a rank correlation. */
const MIN_PAIRS = 3;

/**
 * Contribution of each pair to the rank correlation: the product of its two standardized ranks. The
 * mean of the products is Spearman's coefficient.
 *
 * @param x, y Finite numbers, of equal length.
 * @returns `undefined` with fewer than three pairs, or if all values of `x` or of `y` are equal.
 */
export function standardizedRankProducts(
  x: readonly number[],
  y: readonly number[],
): readonly number[] | undefined {
  if (x.length < MIN_PAIRS) return undefined;
  const left = standardized(ranks(x));
  const right = standardized(ranks(y));
  if (left === undefined || right === undefined) return undefined;
  return Array.from(left, (value, index) => value * (right[index] as number));
}

/**
 * Spearman's rank correlation with mean ranks for ties, in [-1, 1].
 *
 * @returns `undefined` with fewer than three pairs, or if all values of `x` or of `y` are equal.
 */
export function rankCorrelation(x: readonly number[], y: readonly number[]): number | undefined {
  const products = standardizedRankProducts(x, y);
  if (products === undefined) return undefined;
  return products.reduce((sum, product) => sum + product, 0) / products.length;
}
