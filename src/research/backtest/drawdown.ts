/**
 * Wealth after each return, starting from 1. Returns are simple fractions. After a loss of more
 * than 100 %, which is possible with short positions, wealth stays at 0.
 */
export function wealthPath(returns: readonly number[]): readonly number[] {
  let value = 1;
  return returns.map((change) => {
    value = Math.max(0, value * (1 + change));
    return value;
  });
}

/**
 * Maximum drawdown from a peak, as a fraction in [0, 1]; 0 if wealth never falls or there are no
 * returns.
 *
 * @param returns Simple returns as fractions, in chronological order.
 */
export function maxDrawdown(returns: readonly number[]): number {
  let peak = 1;
  let worst = 0;
  for (const value of wealthPath(returns)) {
    peak = Math.max(peak, value);
    worst = Math.max(worst, 1 - value / peak);
  }
  return worst;
}
