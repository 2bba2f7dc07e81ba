/** Closes of one session: as traded, and adjusted by all splits until today. */
interface TwoCloses {
  readonly traded: number;
  readonly adjusted: number;
}

/** Adjusted closes are exact to half of this, in USD, at worst. */
const CENT = 0.01;

/** Least relative error that is allowed for. */
const MIN_TOLERANCE = 0.002;

/** Denominators of splits, and of stock dividends (11 for 10, 21 for 20). */
const DENOMINATORS = [1, 2, 3, 4, 5, 10, 20] as const;

/**
 * New shares per old share between two sessions: what adjustment divides the earlier close by and
 * the later one not. It is rounded to the simplest ratio within the error of adjusted closes, which
 * are given in cents; where none is near it is given to four digits.
 *
 * @returns 1 without a split.
 */
export function splitRatio(earlier: TwoCloses, later: TwoCloses): number {
  const measured = factor(earlier) / factor(later);
  const error = CENT / 2 / earlier.adjusted + CENT / 2 / later.adjusted;
  const tolerance = Math.max(MIN_TOLERANCE, error);
  if (Math.abs(measured - 1) <= tolerance) return 1;
  const ratio = measured > 1 ? simplest(measured, tolerance) : simplest(1 / measured, tolerance);
  if (ratio === undefined) return Number(measured.toPrecision(4));
  return measured > 1 ? ratio : 1 / ratio;
}

const factor = ({ traded, adjusted }: TwoCloses): number => traded / adjusted;

/** @param measured Above 1. */
function simplest(measured: number, tolerance: number): number | undefined {
  return DENOMINATORS.map((denominator) => Math.round(measured * denominator) / denominator).find(
    (ratio) => ratio > 1 && Math.abs(ratio / measured - 1) <= tolerance,
  );
}
