import type { AssetClass, Instrument } from "../../market/instrument.ts";
import type { Bar, InstrumentRecords } from "../../market/records.ts";

/** A session of an asset class. */
interface Session {
  /** ISO date. */
  readonly label: string;
  /** When its bars became known, Unix milliseconds. */
  readonly close: number;
}

/** One instrument on the calendar of its class; every array has one element per session. */
export interface GridRow {
  readonly instrument: Instrument;
  /** Log total returns (dividends and splits included), `NaN` without a bar. */
  readonly returns: Float64Array;
  /** Cumulative returns, constant while there is no bar. */
  readonly total: Float64Array;
  /** Log returns from open to close, `NaN` without a bar. */
  readonly daytime: Float64Array;
  /** Log of the value traded in quote currency, `NaN` without a bar or a trade. */
  readonly tradedValue: Float64Array;
  /** Index of the newest bar, -1 without any. */
  readonly last: number;
}

/** Returns of one asset class, including instruments that stopped trading. */
export interface ReturnGrid {
  readonly assetClass: AssetClass;
  readonly sessions: readonly Session[];
  readonly rows: readonly GridRow[];
  /** Equal-weighted mean log return of the class per session; 0 where nothing traded. */
  readonly market: Float64Array;
}

/**
 * Aligns the bars of a class on its calendar.
 *
 * @param to Sessions after this ISO date are excluded.
 */
export function createReturnGrid(
  records: readonly InstrumentRecords[],
  assetClass: AssetClass,
  to: string,
): ReturnGrid {
  const group = records.filter(({ instrument }) => instrument.assetClass === assetClass);
  const closes = new Map<string, number>();
  for (const { bars } of group) {
    for (const { session, availableAt } of bars) {
      // A bar that was doubted becomes known a session later.
      closes.set(session, Math.min(closes.get(session) ?? availableAt, availableAt));
    }
  }
  const sessions = [...closes]
    .map(([label, close]): Session => ({ label, close }))
    .filter(({ label }) => label <= to)
    .sort((a, b) => a.close - b.close);
  const places = new Map(sessions.map(({ label }, place) => [label, place]));
  const rows = group.map((one) => createRow(one, places));
  return { assetClass, sessions, rows, market: equalWeighted(rows, sessions.length) };
}

function createRow(
  { instrument, bars }: InstrumentRecords,
  places: ReadonlyMap<string, number>,
): GridRow {
  const returns = new Float64Array(places.size).fill(Number.NaN);
  const daytime = new Float64Array(places.size).fill(Number.NaN);
  const tradedValue = new Float64Array(places.size).fill(Number.NaN);
  let last = -1;
  for (const bar of bars) {
    const place = places.get(bar.session);
    if (place === undefined) continue;
    returns[place] = bar.logReturn ?? 0;
    daytime[place] = Math.log(bar.close / bar.open);
    tradedValue[place] = logTradedValue(bar, instrument);
    last = place;
  }
  let sum = 0;
  const total = returns.map((value) => {
    sum += Number.isNaN(value) ? 0 : value;
    return sum;
  });
  return { instrument, returns, total, daytime, tradedValue, last };
}

/** The volume of coins is in quote currency already. */
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

/**
 * Log total return from the close of a session over `horizon` sessions. An instrument that stops
 * trading in between keeps its last price.
 *
 * @param entry Index of the session at whose close it begins.
 * @returns `NaN` if the calendar ends before, or without a trade after the entry.
 */
export function returnFrom({ total, last }: GridRow, entry: number, horizon: number): number {
  const exit = entry + horizon;
  if (exit >= total.length || last <= entry) return Number.NaN;
  return (total[exit] as number) - (total[entry] as number);
}

/** The return that follows a score: it begins at the close of the next session. */
export const forwardReturn = (row: GridRow, place: number, horizon: number): number =>
  returnFrom(row, place + 1, horizon);
