import { setImmediate } from "node:timers/promises";
import { findIndistinct } from "../grading/distinct.ts";
import {
  placesOf,
  returnAfter,
  returnOver,
  returnsOn,
  type Session,
  SessionCalendar,
} from "../grading/session-returns.ts";
import type { Exclusion } from "../grading/track-record.ts";
import type { AssetClass } from "../market/instrument.ts";
import type { Market } from "../market/market.ts";
import { countKnown } from "../market/point-in-time.ts";
import type { Bar, InstrumentRecords } from "../market/records.ts";
import type { Outcome } from "./leaves.ts";

/** Sessions beyond its horizon that a settlement needs: the entry, and one in which doubted prices are
 *  confirmed. */
export const CONFIRMED_AFTER = 2;

/** Further sessions for which a settlement waits for missing prices. */
export const PATIENCE_SESSIONS = 10;

/** Bars that are read on either side of the measured sessions: if the bars of an instrument became
 *  known late, those of others date its sessions. */
const MARGIN_BARS = 3;

/** Instruments between two pauses, so that other work runs. */
const CHUNK = 200;

/** Sessions in which copies of other coins are looked for. */
const COPY_SESSIONS = 252;

/** The part of a market that settlements are computed from. */
export type SettledMarket = Pick<Market, "recordsUntil" | "dayMs" | "scoredFrom">;

/** A run to settle. Instants are Unix milliseconds. */
export interface RunToSettle {
  readonly assetClass: AssetClass;
  /** Close of its session. */
  readonly close: number;
  readonly symbols: readonly string[];
  /** In sessions. */
  readonly horizon: number;
}

/** Outcomes of the statements of a run. */
export interface RunOutcomes {
  /** Closes between which the returns are measured, Unix milliseconds. */
  readonly entry: number;
  readonly exit: number;
  /** In the order of the symbols. */
  readonly outcomes: readonly Outcome[];
}

/**
 * Reads the outcomes of a run: returns from the close of the next session over the horizon, by the
 * prices known one session later, when doubted bars are confirmed or dropped. Prices that were
 * published after that are ignored; those that arrive late but were published in time are used.
 *
 * @param knownUntil Instant up to which sessions are complete.
 * @returns `undefined` while the sessions are not known.
 */
export async function outcomesOf(
  run: RunToSettle,
  market: SettledMarket,
  knownUntil: number,
): Promise<RunOutcomes | undefined> {
  const { assetClass, close, horizon } = run;
  const records = market.recordsUntil(knownUntil);
  const group = records.filter(({ instrument }) => instrument.assetClass === assetClass);
  const calendar = new SessionCalendar();
  const bars = new Map<string, readonly Bar[]>();
  for (const [index, one] of group.entries()) {
    const around = barsAround(one, close, horizon, knownUntil);
    calendar.add(around);
    bars.set(one.instrument.symbol, around);
    if (index % CHUNK === CHUNK - 1) await setImmediate();
  }
  const sessions = calendar.sessions();
  const place = sessions.findIndex((session) => session.close === close);
  const [entry, exit, after] = [1, 1 + horizon, 2 + horizon].map(
    (ahead) => sessions[place + ahead],
  );
  if (place < 0 || entry === undefined || exit === undefined || after === undefined)
    return undefined;
  const copies = copiesAt(group, run, market.dayMs);
  const known = { sessions: sessions.slice(place, place + 2 + horizon), at: after.close };
  const outcomes: Outcome[] = [];
  for (const [index, symbol] of run.symbols.entries()) {
    outcomes.push(
      copies.has(symbol) ? { status: "copies" } : outcomeOf(bars.get(symbol) ?? [], known, horizon),
    );
    if (index % CHUNK === CHUNK - 1) await setImmediate();
  }
  return { entry: entry.close, exit: exit.close, outcomes };
}

/** Outcomes without returns: the same reason for every result of a run. */
export const withoutReturns = (
  { symbols }: Pick<RunToSettle, "symbols">,
  status: Exclusion,
): readonly Outcome[] => symbols.map(() => ({ status }));

function barsAround(
  { bars }: InstrumentRecords,
  close: number,
  horizon: number,
  knownUntil: number,
): readonly Bar[] {
  const first = Math.max(0, countKnown(bars, close - 1) - MARGIN_BARS);
  const end = first + horizon + 2 * MARGIN_BARS + 2;
  return bars.slice(first, Math.min(end, countKnown(bars, knownUntil)));
}

/** @param known The sessions from that of the statement to the exit, and the instant of knowledge. */
function outcomeOf(
  bars: readonly Bar[],
  { sessions, at }: { readonly sessions: readonly Session[]; readonly at: number },
  horizon: number,
): Outcome {
  const [first] = sessions as readonly [Session];
  const isTraded = bars.some(
    ({ session, availableAt }) => session === first.label && availableAt <= first.close,
  );
  if (!isTraded) return { status: "untraded" };
  const seen = bars.filter(({ availableAt }) => availableAt <= at);
  const returns = returnsOn(placesOf(sessions), seen);
  const followed = returnAfter(returns, 0, horizon);
  if (Number.isNaN(followed)) return { status: "unsettled" };
  const last = returns.findLastIndex((value) => !Number.isNaN(value));
  const fromClose = returnOver(returns, 0, horizon);
  return {
    status: "settled",
    followed,
    fromClose: Number.isNaN(fromClose) ? null : fromClose,
    lastPrice: last === sessions.length - 1 ? null : (sessions[last]?.label ?? null),
  };
}

/**
 * Coins that copied another one, or had a fixed price, over the year before a close. Stocks are not
 * compared: they have hardly any copies, and there are too many of them.
 */
export function copiesAt(
  group: readonly InstrumentRecords[],
  { assetClass, close }: Pick<RunToSettle, "assetClass" | "close">,
  dayMs: number,
): ReadonlySet<string> {
  if (assetClass !== "crypto") return new Set();
  const year = group
    .toSorted((a, b) => firstOf(a) - firstOf(b))
    .map(({ instrument, bars }) => {
      const from = countKnown(bars, close - COPY_SESSIONS * dayMs);
      return { instrument, bars: bars.slice(from, countKnown(bars, close)) };
    });
  const calendar = new SessionCalendar();
  for (const { bars } of year) calendar.add(bars);
  const sessions = calendar.sessions();
  const places = placesOf(sessions);
  const { copies, still } = findIndistinct({
    sessions,
    rows: year.map(({ instrument, bars }) => ({ instrument, returns: returnsOn(places, bars) })),
  });
  return new Set([...copies, ...still]);
}

const firstOf = ({ bars }: InstrumentRecords): number =>
  bars.at(0)?.availableAt ?? Number.POSITIVE_INFINITY;
