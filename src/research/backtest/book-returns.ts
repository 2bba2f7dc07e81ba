import type { StatementOutcome } from "./outcomes.ts";
import type { ReturnGrid } from "./return-grid.ts";

/** A simulated book, session by session; arrays have one element per session of the grid. */
export interface BookReturns {
  /** Simple returns before costs: long leg minus short leg, each of capital 1; 0 while flat. */
  readonly gross: Float64Array;
  /** Value bought and sold over both legs, as a multiple of the capital of one leg. */
  readonly traded: Float64Array;
}

const BASIS_POINT = 1e-4;

/** Returns after a one-way cost in basis points. */
export const netReturns = (
  { gross, traded }: BookReturns,
  costBp: number,
): Float64Array<ArrayBuffer> =>
  Float64Array.from(
    gross,
    (value, place) => value - costBp * BASIS_POINT * (traded[place] as number),
  );

/** The legs that are bought on one date, equally weighted, and held for the whole horizon. */
export interface Cohort {
  /** Index of the session of the scores; the legs are bought at the close of the next one. */
  readonly place: number;
  readonly long: readonly StatementOutcome[];
  readonly short: readonly StatementOutcome[];
  /** Value that buying and selling the legs trades, as a multiple of the capital of one leg. */
  readonly traded: number;
}

/**
 * The book that holds all cohorts whose horizon has not ended, with equal capital in each
 * (Jegadeesh & Titman, 1993): every session counts once, and no choice of first date matters.
 */
export function cohortReturns(
  cohorts: readonly Cohort[],
  grid: ReturnGrid,
  horizon: number,
): BookReturns {
  const { length } = grid.sessions;
  const [gross, traded, held] = [0, 1, 2].map(() => new Float64Array(length)) as [
    Float64Array,
    Float64Array,
    Float64Array,
  ];
  for (const { place, long, short, traded: value } of cohorts) {
    const legs = [long, short].map((leg) => legGains(leg, grid, { entry: place + 1, horizon }));
    for (let session = 1; session <= horizon; session++) {
      const at = place + 1 + session;
      const gain = (legs[0]?.[session - 1] as number) - (legs[1]?.[session - 1] as number);
      (gross[at] as number) += gain;
      (held[at] as number) += 1;
    }
    (traded[place + 2] as number) += value;
  }
  const perCohort = (sums: Float64Array) =>
    sums.map((sum, place) => (held[place] === 0 ? 0 : sum / (held[place] as number)));
  return { gross: perCohort(gross), traded: perCohort(traded) };
}

/** Gain of a leg in each session of the horizon, as a fraction of its capital at the entry. */
function legGains(
  leg: readonly StatementOutcome[],
  { rows }: ReturnGrid,
  { entry, horizon }: { readonly entry: number; readonly horizon: number },
): Float64Array {
  const gains = new Float64Array(horizon);
  for (const { row } of leg) {
    const returns = rows[row]?.returns;
    let value = 1;
    for (let session = 0; session < horizon; session++) {
      const logReturn = returns?.[entry + 1 + session] ?? Number.NaN;
      const next = Number.isNaN(logReturn) ? value : value * Math.exp(logReturn);
      (gains[session] as number) += (next - value) / leg.length;
      value = next;
    }
  }
  return gains;
}

/**
 * The book of the published signals: long every instrument that is LONG and short every one that is
 * SHORT, equally weighted in each leg, changed at the close after the signal. A leg without an
 * instrument holds nothing.
 *
 * @param calls By session of the grid: direction by row (1, 0 or -1) after its close.
 */
export function signalReturns(
  calls: readonly (Int8Array | undefined)[],
  grid: ReturnGrid,
): BookReturns & { readonly long: number; readonly short: number } {
  const { length } = grid.sessions;
  const gross = new Float64Array(length);
  const traded = new Float64Array(length);
  let before = new Float64Array(grid.rows.length);
  const names = { long: 0, short: 0, sessions: 0 };
  for (let place = 2; place < length; place++) {
    const directions = calls[place - 2];
    if (directions === undefined) continue;
    const sides = { long: count(directions, 1), short: count(directions, -1) };
    const weights = Float64Array.from(directions, (call) => weightOf(call, sides));
    for (const [row, { returns }] of grid.rows.entries()) {
      const [weight, old] = [weights[row] as number, before[row] as number];
      (traded[place] as number) += Math.abs(weight - old);
      const logReturn = returns[place] as number;
      if (weight !== 0 && !Number.isNaN(logReturn)) {
        (gross[place] as number) += weight * Math.expm1(logReturn);
      }
    }
    before = weights;
    names.long += sides.long;
    names.short += sides.short;
    names.sessions++;
  }
  const sessions = Math.max(1, names.sessions);
  return { gross, traded, long: names.long / sessions, short: names.short / sessions };
}

const count = (directions: Int8Array, wanted: number): number =>
  directions.reduce((sum, call) => sum + Number(call === wanted), 0);

function weightOf(call: number, sides: { readonly long: number; readonly short: number }): number {
  if (call === 0) return 0;
  return call > 0 ? 1 / sides.long : -1 / sides.short;
}
