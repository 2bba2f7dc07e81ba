/** Coefficients (c0, c1, c2) of a probability 1 / (1 + exp(-(c0 + c1 u + c2 u^2))). */
export type QuadraticLogistic = readonly [c0: number, c1: number, c2: number];

/** The probability that a fit assigns to a value. */
export const logisticProbability = ([c0, c1, c2]: QuadraticLogistic, u: number): number =>
  1 / (1 + Math.exp(-(c0 + c1 * u + c2 * u * u)));

/** Maximum number of steps of Newton's method, and the step below which it has converged. */
const MAX_STEPS = 50;
const CONVERGED = 1e-10;

/**
 * Fits the coefficients by maximum likelihood with Newton's method.
 *
 * @param u One value per observation.
 * @param outcomes 1 where the event happened, else 0.
 * @returns `undefined` if the fit does not converge, as without both outcomes.
 */
export function fitQuadraticLogistic(
  u: readonly number[],
  outcomes: readonly number[],
): QuadraticLogistic | undefined {
  let fit: QuadraticLogistic = [0, 0, 0];
  for (let step = 0; step < MAX_STEPS; step++) {
    const change = newtonStep(fit, u, outcomes);
    if (change === undefined) return undefined;
    fit = [fit[0] + change[0], fit[1] + change[1], fit[2] + change[2]];
    if (change.every((value) => Math.abs(value) < CONVERGED)) return fit;
  }
  return undefined;
}

function newtonStep(
  fit: QuadraticLogistic,
  u: readonly number[],
  outcomes: readonly number[],
): QuadraticLogistic | undefined {
  const gradient: [number, number, number] = [0, 0, 0];
  // Sums of weight times u^k: the elements of the Hessian.
  const sums: [number, number, number, number, number] = [0, 0, 0, 0, 0];
  for (const [index, value] of u.entries()) {
    const probability = logisticProbability(fit, value);
    const error = (outcomes[index] as number) - probability;
    const square = value * value;
    gradient[0] += error;
    gradient[1] += error * value;
    gradient[2] += error * square;
    const weight = probability * (1 - probability);
    sums[0] += weight;
    sums[1] += weight * value;
    sums[2] += weight * square;
    sums[3] += weight * square * value;
    sums[4] += weight * square * square;
  }
  return solve(sums, gradient);
}

/**
 * Solves the normal equations with the Hankel matrix of the sums by Cramer's rule; `undefined` if
 * it is singular.
 */
function solve(
  [a, b, c, d, e]: readonly [number, number, number, number, number],
  [x, y, z]: QuadraticLogistic,
): QuadraticLogistic | undefined {
  const [m0, m1, m2] = [c * e - d * d, b * e - c * d, b * d - c * c];
  const determinant = a * m0 - b * m1 + c * m2;
  if (!(Math.abs(determinant) > Number.EPSILON * Math.abs(a * c * e))) return undefined;
  const [n1, n2, n3] = [a * e - c * c, a * d - b * c, a * c - b * b];
  return [
    (x * m0 - y * m1 + z * m2) / determinant,
    (-x * m1 + y * n1 - z * n2) / determinant,
    (x * m2 - y * n2 + z * n3) / determinant,
  ];
}
