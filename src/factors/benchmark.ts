import type { AssetClass } from "../market/instrument.ts";
import type { Bar } from "../market/records.ts";
import { type MarketReturns, PRICE_WINDOWS } from "./price-history.ts";
import { decay, ewStep } from "./statistics.ts";

/** The variance gate (Barroso & Santa-Clara, 2015; Daniel & Moskowitz, 2016). */
export const GATE = {
  /** Half-life in sessions of the market's variance, and the minimum number of sessions. */
  halfLifeSessions: 20,
  minSessions: 20,
  floor: 0.1,
  /** Annual market volatility up to which momentum has full weight. */
  target: { stock: 0.16, etf: 0.16, crypto: 0.6 },
  sessionsPerYear: { stock: 252, etf: 252, crypto: 365 },
} as const satisfies Readonly<Record<string, number | Readonly<Record<AssetClass, number>>>>;

/** The market of one asset class: the equal-weighted mean of its instruments' daily log returns. */
export interface Benchmark {
  /** By session number; 0 for sessions that are open or have no known return. */
  readonly returns: MarketReturns;
  /** Annualised EW(20) volatility of the closed sessions, `undefined` before 20 of them. */
  readonly volatility: number | undefined;
  /** Number of a bar's session, from 0 in order of first appearance. */
  sessionOf(bar: Bar): number;
  /** Adds the return of one instrument; ignored once its session is closed. */
  note(bar: Bar): void;
  /** Closes all sessions seen so far: their means become final. */
  close(): void;
}

/** Creates the benchmark of a class, without any session. */
export function createBenchmark(assetClass: AssetClass): Benchmark {
  const lambda = decay(1, GATE.halfLifeSessions);
  const perYear = GATE.sessionsPerYear[assetClass];
  const numbers = new Map<string, number>();
  const returns: number[] = [];
  const counts: number[] = [];
  let closed = 0;
  let variance: number | undefined;
  let observations = 0;

  const add = (session: string): number => {
    numbers.set(session, counts.length);
    returns.push(0);
    return counts.push(0) - 1;
  };
  // Bars arrive session by session.
  let last: { readonly session: string; readonly number: number } | undefined;
  const sessionOf = ({ session }: Bar): number => {
    if (last?.session !== session) last = { session, number: numbers.get(session) ?? add(session) };
    return last.number;
  };
  return {
    returns,
    get volatility() {
      if (variance === undefined || observations < GATE.minSessions) return undefined;
      return Math.sqrt(perYear * variance);
    },
    sessionOf,
    note(bar) {
      const { logReturn } = bar;
      const session = sessionOf(bar);
      if (session < closed || logReturn === null) return;
      if (Math.abs(logReturn) > PRICE_WINDOWS.maxReturn) return;
      (returns[session] as number) += logReturn;
      (counts[session] as number)++;
    },
    close() {
      for (; closed < counts.length; closed++) {
        const count = counts[closed] as number;
        if (count === 0) continue;
        (returns[closed] as number) /= count;
        variance = ewStep(variance, (returns[closed] as number) ** 2, lambda);
        observations++;
      }
    },
  };
}

/** g = min(1, (s / sigma)^2), at least 0.1; 1 while the market's volatility is not known. */
export function momentumGate(volatility: number | undefined, assetClass: AssetClass): number {
  if (volatility === undefined) return 1;
  return Math.max(GATE.floor, Math.min(1, (GATE.target[assetClass] / volatility) ** 2));
}
