import type { Instrument } from "../market/instrument.ts";
import type { Bar } from "../market/records.ts";

/** A session of an asset class. */
export interface Session {
  /** ISO date, or an ISO instant where sessions are shorter than a day. */
  readonly label: string;
  /** When its bars became known, Unix milliseconds. */
  readonly close: number;
}

/** The returns of one instrument on the calendar of its class. */
export interface SessionReturns {
  readonly instrument: Instrument;
  /** Log total returns (dividends and splits included) by session, `NaN` without a bar. */
  readonly returns: Float64Array;
}

/** Returns of one asset class by session, oldest first. */
export interface SessionGrid {
  readonly sessions: readonly Session[];
  readonly rows: readonly SessionReturns[];
}

/** Collects the sessions of a class from the bars of its instruments. */
export class SessionCalendar {
  readonly #closes = new Map<string, number>();

  add(bars: Iterable<Bar>): void {
    for (const { session, availableAt } of bars) {
      // A bar that was doubted becomes known a session later.
      const known = this.#closes.get(session) ?? availableAt;
      this.#closes.set(session, Math.min(known, availableAt));
    }
  }

  /** All sessions, oldest first. */
  sessions(): readonly Session[] {
    return [...this.#closes]
      .map(([label, close]): Session => ({ label, close }))
      .sort((a, b) => a.close - b.close);
  }
}

/** Positions of sessions by label. */
export const placesOf = (sessions: readonly Session[]): ReadonlyMap<string, number> =>
  new Map(sessions.map(({ label }, place) => [label, place]));

/** Log total returns of an instrument by session; the first bar of a history has a return of 0. */
export function returnsOn(
  places: ReadonlyMap<string, number>,
  bars: Iterable<Bar>,
): Float64Array<ArrayBuffer> {
  const returns = new Float64Array(places.size).fill(Number.NaN);
  for (const { session, logReturn } of bars) {
    const place = places.get(session);
    if (place !== undefined) returns[place] = logReturn ?? 0;
  }
  return returns;
}

/**
 * Log total return from the close of one session to that of a later one. An instrument without a price
 * at the later close keeps its last one.
 *
 * @param entry Index of the session at whose close it begins.
 * @param horizon Sessions.
 * @returns `NaN` if the calendar ends before, or if there is no price after the entry.
 */
export function returnOver(returns: Float64Array, entry: number, horizon: number): number {
  if (entry + horizon >= returns.length) return Number.NaN;
  let sum = 0;
  let hasTraded = false;
  for (let place = entry + 1; place <= entry + horizon; place++) {
    const value = returns[place] as number;
    if (Number.isNaN(value)) continue;
    sum += value;
    hasTraded = true;
  }
  return hasTraded ? sum : Number.NaN;
}

/**
 * Log total return that follows a statement: it begins at the close of the next session, since nobody
 * can trade at the close that the statement is made from.
 *
 * @param place Index of the session after whose close the statement is made.
 * @param horizon Sessions.
 * @returns `NaN` as with `returnOver`.
 */
export const returnAfter = (returns: Float64Array, place: number, horizon: number): number =>
  returnOver(returns, place + 1, horizon);
