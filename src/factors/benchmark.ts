import type { AssetClass } from "../market/instrument.ts";
import type { Bar } from "../market/records.ts";
import { MIN_PEER_GROUP_SIZE } from "../statistics/ecdf.ts";
import { decayFactor, ewmaStep } from "../statistics/statistics.ts";
import { type MarketReturns, PRICE_HISTORY_RULES } from "./price-history.ts";

/**
 * Constants of the gate that reduces momentum in volatile markets (Barroso & Santa-Clara, 2015;
 * Daniel & Moskowitz, 2016).
 */
export const VARIANCE_GATE = {
  /** Half-life in sessions of the market's variance, and the minimum number of sessions. */
  halfLifeSessions: 20,
  minSessions: 20,
  floor: 0.1,
  /** Annualized market volatility up to which momentum has its full weight, as a fraction. */
  target: { stock: 0.16, etf: 0.16, crypto: 0.6 },
  sessionsPerYear: { stock: 252, etf: 252, crypto: 365 },
} as const satisfies Readonly<Record<string, number | Readonly<Record<AssetClass, number>>>>;

/**
 * Funds that hold the whole US stock market, or the 500 largest of it. In a session with the returns
 * of fewer than 30 stocks, the first of them that is covered is the benchmark of stocks.
 */
export const BROAD_FUNDS: readonly string[] = ["SPY", "VOO", "IVV", "VTI", "ITOT", "SCHB"];

/** Benchmark of one asset class: the equal-weighted mean of its instruments' daily log returns. */
export interface Benchmark {
  /**
   * Mean log return by session number; 0 for a session that is still open or has no known return.
   */
  readonly returns: MarketReturns;
  /**
   * Annualized volatility of the closed sessions, exponentially weighted with a half-life of 20
   * sessions; `undefined` before 20 sessions.
   */
  readonly volatility: number | undefined;
  /**
   * Number of a bar's session; sessions are numbered from 0 in the order in which they first
   * appear.
   */
  sessionOf(bar: Bar): number;
  /** Adds a bar's return to the mean of its session; has no effect once that session is closed. */
  note(bar: Bar): void;
  /**
   * Sets the return of a broad fund, which replaces the mean of its session if fewer than 30
   * instruments have one; has no effect in sessions without instruments.
   */
  noteFund(bar: Bar): void;
  /** Closes all sessions seen so far, which makes their mean returns final. */
  close(): void;
}

/** Creates the benchmark of an asset class; it has no sessions yet. */
export function createBenchmark(assetClass: AssetClass): Benchmark {
  const lambda = decayFactor(1, VARIANCE_GATE.halfLifeSessions);
  const perYear = VARIANCE_GATE.sessionsPerYear[assetClass];
  const numbers = new Map<string, number>();
  const returns: number[] = [];
  const counts: number[] = [];
  const funds = new Map<number, number>();
  let closed = 0;
  let variance: number | undefined;
  let observations = 0;

  const add = (session: string): number => {
    numbers.set(session, counts.length);
    returns.push(0);
    return counts.push(0) - 1;
  };
  // Cached because most bars belong to the same session as the bar before.
  let last: { readonly session: string; readonly number: number } | undefined;
  const sessionOf = ({ session }: Bar): number => {
    if (last?.session !== session) last = { session, number: numbers.get(session) ?? add(session) };
    return last.number;
  };
  return {
    returns,
    get volatility() {
      if (variance === undefined || observations < VARIANCE_GATE.minSessions) return undefined;
      return Math.sqrt(perYear * variance);
    },
    sessionOf,
    note(bar) {
      const { logReturn } = bar;
      const session = sessionOf(bar);
      if (session < closed || logReturn === null) return;
      if (Math.abs(logReturn) > PRICE_HISTORY_RULES.maxReturn) return;
      (returns[session] as number) += logReturn;
      (counts[session] as number)++;
    },
    noteFund({ session, logReturn }) {
      const number = numbers.get(session);
      if (number === undefined || logReturn === null) return;
      if (Math.abs(logReturn) <= PRICE_HISTORY_RULES.maxReturn) funds.set(number, logReturn);
    },
    close() {
      for (; closed < counts.length; closed++) {
        const count = counts[closed] as number;
        if (count === 0) continue;
        const fund = count < MIN_PEER_GROUP_SIZE ? funds.get(closed) : undefined;
        returns[closed] = fund ?? (returns[closed] as number) / count;
        funds.delete(closed);
        variance = ewmaStep(variance, (returns[closed] as number) ** 2, lambda);
        observations++;
      }
    },
  };
}

/**
 * Gate g = max(0.1, min(1, (target / volatility)^2)); 1 while the market's volatility is unknown.
 *
 * @param volatility Annualized, as a fraction.
 */
export function momentumGate(volatility: number | undefined, assetClass: AssetClass): number {
  if (volatility === undefined) return 1;
  return Math.max(
    VARIANCE_GATE.floor,
    Math.min(1, (VARIANCE_GATE.target[assetClass] / volatility) ** 2),
  );
}
