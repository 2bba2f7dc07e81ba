import {
  logReturnsBySession,
  positionsBySession,
  SessionCalendar,
  type SessionGrid,
  type SessionReturns,
} from "../../grading/session-returns.ts";
import type { AssetClass, Instrument } from "../../market/instrument.ts";
import type { Bar, InstrumentRecords } from "../../market/records.ts";

/** One instrument on the calendar of its class; every array has one element per session. */
export interface GridRow extends SessionReturns {
  /** Log returns from open to close; `NaN` without a bar. */
  readonly daytime: Float64Array;
  /** Natural logarithm of the value traded, in quote currency; `NaN` without a bar or a trade. */
  readonly tradedValue: Float64Array;
  /** Index of the newest bar; -1 if there is none. */
  readonly last: number;
}

/** Returns of one asset class, including instruments that stopped trading. */
export interface ReturnGrid extends SessionGrid {
  readonly assetClass: AssetClass;
  readonly rows: readonly GridRow[];
  /** Equal-weighted mean log return of the class by session; 0 if nothing traded. */
  readonly market: Float64Array;
}

/**
 * Aligns the bars of a class on its calendar.
 *
 * @param to ISO date; later sessions are excluded.
 */
export function createReturnGrid(
  records: readonly InstrumentRecords[],
  assetClass: AssetClass,
  to: string,
): ReturnGrid {
  const group = records.filter(({ instrument }) => instrument.assetClass === assetClass);
  const calendar = new SessionCalendar();
  for (const { bars } of group) calendar.add(bars);
  const sessions = calendar.sessions().filter(({ label }) => label <= to);
  const places = positionsBySession(sessions);
  const rows = group.map((one) => createRow(one, places));
  return { assetClass, sessions, rows, market: equalWeighted(rows, sessions.length) };
}

function createRow(
  { instrument, bars }: InstrumentRecords,
  places: ReadonlyMap<string, number>,
): GridRow {
  const daytime = new Float64Array(places.size).fill(Number.NaN);
  const tradedValue = new Float64Array(places.size).fill(Number.NaN);
  let last = -1;
  for (const bar of bars) {
    const place = places.get(bar.session);
    if (place === undefined) continue;
    daytime[place] = Math.log(bar.close / bar.open);
    tradedValue[place] = logTradedValue(bar, instrument);
    last = place;
  }
  return { instrument, returns: logReturnsBySession(places, bars), daytime, tradedValue, last };
}

/**
 * Natural logarithm of the value traded in quote currency; the volume of coins is already in quote
 * currency.
 */
function logTradedValue({ close, volume }: Bar, { assetClass }: Instrument): number {
  const value = assetClass === "crypto" ? volume : close * volume;
  return value > 0 ? Math.log(value) : Number.NaN;
}

function equalWeighted(rows: readonly GridRow[], sessions: number): Float64Array {
  return new Float64Array(sessions).map((_, place) => {
    let sum = 0;
    let count = 0;
    for (const { returns } of rows) {
      const value = returns[place] as number;
      if (Number.isNaN(value)) continue;
      sum += value;
      count++;
    }
    return count === 0 ? 0 : sum / count;
  });
}
