import { setImmediate } from "node:timers/promises";
import { findExcludedSymbols } from "../grading/excluded-symbols.ts";
import {
  logReturnsBySession,
  positionsBySession,
  returnAfterStatement,
  returnFromEntry,
  SessionCalendar,
  type TradingSession,
} from "../grading/session-returns.ts";
import type { ExclusionReason } from "../grading/track-record.ts";
import type { AssetClass } from "../market/instrument.ts";
import type { Market } from "../market/market.ts";
import { countKnownRecords } from "../market/point-in-time.ts";
import type { Bar, InstrumentRecords } from "../market/records.ts";
import type { SettlementOutcome } from "./leaves.ts";

/**
 * Number of bars read on either side of the measured sessions. If the bars of an instrument became
 * known late, its sessions are dated by the bars of other instruments.
 */
const MARGIN_BARS = 3;

/** Number of instruments processed before other work gets a turn. */
const CHUNK = 200;

/** Number of sessions over which coins are compared to find duplicates, such as wrapped coins. */
const COPY_SESSIONS = 252;

/** The part of a market that settlements are computed from. */
export type SettlementMarket = Pick<Market, "recordsUntil" | "dayMs" | "scoredFrom">;

/** A run to settle. Instants are Unix milliseconds. */
export interface RunToSettle {
  readonly assetClass: AssetClass;
  /** Close of the session of the run. */
  readonly close: number;
  readonly symbols: readonly string[];
  /** Horizon in sessions. */
  readonly horizon: number;
}

/** Outcomes of the statements of a run. */
export interface RunOutcomes {
  /** Session closes between which the returns are measured, Unix milliseconds. */
  readonly entry: number;
  readonly exit: number;
  /** Outcomes in the order of the symbols of the run. */
  readonly outcomes: readonly SettlementOutcome[];
}

/**
 * Reads the outcomes of a run: returns over the horizon from the close of the next session, at the
 * prices known one session after the exit, when doubtful bars have been confirmed or dropped.
 * Prices published after that are ignored; prices that arrive later but were published in time are
 * used.
 *
 * @param knownUntil Instant up to which sessions are complete, Unix milliseconds.
 * @returns `undefined` until all of these sessions are known.
 */
export async function computeRunOutcomes(
  run: RunToSettle,
  market: SettlementMarket,
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
  const copies = excludedCoinsAt(group, run, market.dayMs);
  const known = { sessions: sessions.slice(place, place + 2 + horizon), at: after.close };
  const outcomes: SettlementOutcome[] = [];
  for (const [index, symbol] of run.symbols.entries()) {
    outcomes.push(
      copies.has(symbol) ? { status: "copies" } : outcomeOf(bars.get(symbol) ?? [], known, horizon),
    );
    if (index % CHUNK === CHUNK - 1) await setImmediate();
  }
  return { entry: entry.close, exit: exit.close, outcomes };
}

/** Outcomes without returns, with the same reason for every result of a run. */
export const outcomesWithoutReturns = (
  { symbols }: Pick<RunToSettle, "symbols">,
  status: ExclusionReason,
): readonly SettlementOutcome[] => symbols.map(() => ({ status }));

function barsAround(
  { bars }: InstrumentRecords,
  close: number,
  horizon: number,
  knownUntil: number,
): readonly Bar[] {
  const first = Math.max(0, countKnownRecords(bars, close - 1) - MARGIN_BARS);
  const end = first + horizon + 2 * MARGIN_BARS + 2;
  return bars.slice(first, Math.min(end, countKnownRecords(bars, knownUntil)));
}

/**
 * The outcome of one instrument.
 *
 * @param known The sessions from the session of the statement to the exit session, and the instant
 * up to which published prices are used.
 */
function outcomeOf(
  bars: readonly Bar[],
  { sessions, at }: { readonly sessions: readonly TradingSession[]; readonly at: number },
  horizon: number,
): SettlementOutcome {
  const [first] = sessions as readonly [TradingSession];
  const isTraded = bars.some(
    ({ session, availableAt }) => session === first.label && availableAt <= first.close,
  );
  if (!isTraded) return { status: "untraded" };
  const seen = bars.filter(({ availableAt }) => availableAt <= at);
  const returns = logReturnsBySession(positionsBySession(sessions), seen);
  const followed = returnAfterStatement(returns, 0, horizon);
  if (Number.isNaN(followed)) return { status: "unsettled" };
  const last = returns.findLastIndex((value) => !Number.isNaN(value));
  const fromClose = returnFromEntry(returns, 0, horizon);
  return {
    status: "settled",
    followed,
    fromClose: Number.isNaN(fromClose) ? null : fromClose,
    lastPrice: last === sessions.length - 1 ? null : (sessions[last]?.label ?? null),
  };
}

/**
 * Symbols of the coins that duplicated an older coin, such as wrapped coins, or had a fixed price
 * over the year before a close. Stocks are not compared: few stocks duplicate another, and there
 * are too many stocks.
 */
export function excludedCoinsAt(
  group: readonly InstrumentRecords[],
  { assetClass, close }: Pick<RunToSettle, "assetClass" | "close">,
  dayMs: number,
): ReadonlySet<string> {
  if (assetClass !== "crypto") return new Set();
  const year = group
    .toSorted((a, b) => firstOf(a) - firstOf(b))
    .map(({ instrument, bars }) => {
      const from = countKnownRecords(bars, close - COPY_SESSIONS * dayMs);
      return { instrument, bars: bars.slice(from, countKnownRecords(bars, close)) };
    });
  const calendar = new SessionCalendar();
  for (const { bars } of year) calendar.add(bars);
  const sessions = calendar.sessions();
  const places = positionsBySession(sessions);
  const { copies, still } = findExcludedSymbols({
    sessions,
    rows: year.map(({ instrument, bars }) => ({
      instrument,
      returns: logReturnsBySession(places, bars),
    })),
  });
  return new Set([...copies, ...still]);
}

const firstOf = ({ bars }: InstrumentRecords): number =>
  bars.at(0)?.availableAt ?? Number.POSITIVE_INFINITY;
