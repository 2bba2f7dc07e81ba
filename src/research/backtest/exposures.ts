import type { GridRow, ReturnGrid } from "./return-grid.ts";

/** Exposures of an instrument to common risk factors, as known at the close of a session. */
interface Exposures {
  /**
   * Beta: slope of the instrument's returns on the class's equal-weighted return over 252 sessions.
   */
  readonly beta: number;
  /** Natural logarithm of the daily volatility over 63 sessions. */
  readonly logVolatility: number;
  /** Mean of the log traded value over 63 sessions, a proxy for size. */
  readonly size: number;
}

/** The exposures of the rows of a grid at one session; `NaN` in all columns if one is unknown. */
export type ExposureColumns = Readonly<Record<keyof Exposures, Float64Array>>;

/**
 * Creates a reader of the exposures of all rows at a session, which computes each session once,
 * since several horizons and paces need it.
 */
export function createExposureReader(grid: ReturnGrid): (place: number) => ExposureColumns {
  const known = new Map<number, ExposureColumns>();
  return (place) => {
    const found = known.get(place);
    if (found) return found;
    const column = () => new Float64Array(grid.rows.length).fill(Number.NaN);
    const columns = { beta: column(), logVolatility: column(), size: column() };
    for (const [index, row] of grid.rows.entries()) {
      const exposures = exposuresAt(grid, row, place);
      if (exposures === undefined) continue;
      columns.beta[index] = exposures.beta;
      columns.logVolatility[index] = exposures.logVolatility;
      columns.size[index] = exposures.size;
    }
    known.set(place, columns);
    return columns;
  };
}

const BETA_SESSIONS = 252;
const RECENT_SESSIONS = 63;
/** Minimum fraction of the sessions in a window that must have a bar. */
const MIN_PRESENT = 0.5;

/**
 * Computes the exposures of an instrument at the close of a session, from data known by then.
 *
 * @param place Index of the session in the grid.
 * @returns `undefined` if a window has too few bars or no variance.
 */
export function exposuresAt(grid: ReturnGrid, row: GridRow, place: number): Exposures | undefined {
  const beta = slope(row.returns, grid.market, place);
  const variance = varianceOf(row.returns, place);
  const size = recentMean(row.tradedValue, place);
  if (beta === undefined || size === undefined || !(variance > 0)) return undefined;
  return { beta, logVolatility: Math.log(variance) / 2, size };
}

function slope(returns: Float64Array, market: Float64Array, place: number): number | undefined {
  let count = 0;
  let sumX = 0;
  let sumY = 0;
  let sumXX = 0;
  let sumXY = 0;
  for (let index = Math.max(0, place - BETA_SESSIONS + 1); index <= place; index++) {
    const y = returns[index] as number;
    if (Number.isNaN(y)) continue;
    const x = market[index] as number;
    count++;
    sumX += x;
    sumY += y;
    sumXX += x * x;
    sumXY += x * y;
  }
  const spread = sumXX - (sumX * sumX) / count;
  if (count < BETA_SESSIONS * MIN_PRESENT || !(spread > 0)) return undefined;
  return (sumXY - (sumX * sumY) / count) / spread;
}

/** Variance over the last 63 sessions, assuming a zero mean; 0 if there are too few bars. */
function varianceOf(returns: Float64Array, place: number): number {
  const squares = returns.subarray(Math.max(0, place - RECENT_SESSIONS + 1), place + 1);
  return recentMean(squares.map((value) => value * value)) ?? 0;
}

function recentMean(values: Float64Array, place: number = values.length - 1): number | undefined {
  let sum = 0;
  let count = 0;
  for (let index = Math.max(0, place - RECENT_SESSIONS + 1); index <= place; index++) {
    const value = values[index] as number;
    if (Number.isNaN(value)) continue;
    sum += value;
    count++;
  }
  return count < RECENT_SESSIONS * MIN_PRESENT ? undefined : sum / count;
}

/**
 * Volatility per session of the class's equal-weighted return over 63 sessions.
 *
 * @returns `undefined` in the first 31 sessions.
 */
export function marketVolatility({ market }: ReturnGrid, place: number): number | undefined {
  const variance = varianceOf(market, place);
  return variance > 0 ? Math.sqrt(variance) : undefined;
}
