import type { Instrument } from "../market/instrument.ts";
import type { Bar } from "../market/records.ts";

/** A trading session of an asset class. */
export interface TradingSession {
  /** ISO date, or an ISO instant where sessions are shorter than a day. */
  readonly label: string;
  /** When the bars of the session became known, Unix milliseconds. */
  readonly close: number;
}

/** The returns of one instrument, one for each session of its class. */
export interface SessionReturns {
  readonly instrument: Instrument;
  /**
   * Logarithmic total returns (dividends and splits included) by session; `NaN` for a session
   * without a bar.
   */
  readonly returns: Float64Array;
}

/** Returns of one asset class by session, oldest first. */
export interface SessionGrid {
  readonly sessions: readonly TradingSession[];
  readonly rows: readonly SessionReturns[];
}

/** Collects the sessions of a class from the bars of its instruments. */
export class SessionCalendar {
  readonly #closes = new Map<string, number>();

  add(bars: Iterable<Bar>): void {
    for (const { session, availableAt } of bars) {
      // A bar that was withheld as doubtful becomes known a session later, so the earliest time is
      // used.
      const known = this.#closes.get(session) ?? availableAt;
      this.#closes.set(session, Math.min(known, availableAt));
    }
  }

  /** All sessions, oldest first. */
  sessions(): readonly TradingSession[] {
    return [...this.#closes]
      .map(([label, close]): TradingSession => ({ label, close }))
      .sort((a, b) => a.close - b.close);
  }
}

/** Index of each session by label. */
export const positionsBySession = (
  sessions: readonly TradingSession[],
): ReadonlyMap<string, number> => new Map(sessions.map(({ label }, place) => [label, place]));

/**
 * The logarithmic total returns of an instrument, by session. The first bar of a history has a
 * return of 0.
 */
export function logReturnsBySession(
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
 * The logarithmic total return from the close of one session to the close of a later session. An
 * instrument without a price at the later close keeps its last known price.
 *
 * @param entry Index of the session at whose close the return begins.
 * @param horizon Length in sessions.
 * @returns `NaN` if the calendar ends before the later close, or if there is no price after the
 * entry up to that close.
 */
export function returnFromEntry(returns: Float64Array, entry: number, horizon: number): number {
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
 * The logarithmic total return that follows a statement. It begins at the close of the next
 * session, since nobody can still trade at the close that the statement is computed from.
 *
 * @param place Index of the session after whose close the statement is made.
 * @param horizon Length in sessions.
 * @returns `NaN` under the same conditions as `returnFromEntry`.
 */
export const returnAfterStatement = (
  returns: Float64Array,
  place: number,
  horizon: number,
): number => returnFromEntry(returns, place + 1, horizon);
