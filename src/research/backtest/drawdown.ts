/**
 * Wealth after each return, from 1 before the first; returns are simple fractions. A short position
 * can lose more than all there is: wealth then stays at 0.
 */
export function wealth(returns: readonly number[]): readonly number[] {
  let value = 1;
  return returns.map((change) => {
    value = Math.max(0, value * (1 + change));
    return value;
  });
}

/**
 * The largest loss from a peak to a later low, as a fraction in [0, 1]; 0 when wealth never falls
 * and for no returns at all.
 *
 * @param returns Simple fractions in the order of time.
 */
export function maxDrawdown(returns: readonly number[]): number {
  let peak = 1;
  let worst = 0;
  for (const value of wealth(returns)) {
    peak = Math.max(peak, value);
    worst = Math.max(worst, 1 - value / peak);
  }
  return worst;
}
