import { FACTORS } from "../../factors/reading.ts";
import type { Market } from "../../market/market.ts";
import type { InstrumentRecords } from "../../market/records.ts";
import { runningMethod } from "../../method/running.ts";
import { ScoringEngine } from "../../score/scoring-engine.ts";
import type { Snapshot } from "../../score/snapshot.ts";

/** How one score was computed. */
export interface ScoreExplanation {
  readonly methodVersion: string;
  /** ISO date of the requested session, or of the last session before the requested date. */
  readonly session: string;
  /**
   * The snapshot that the service computes at the close of the session, with the tables it used.
   */
  readonly snapshot: Snapshot;
  /**
   * Of a fund or coin, the sums sum(w c z) and sqrt(sum(w^2)): their quotient is Z, and 100 Phi(Z)
   * is the score. The snapshot of a stock has its Z and the place that is its score.
   */
  readonly evidence: number;
  readonly scale: number;
}

/**
 * Scores a market as the service does at the close of a session, and explains the score of one
 * instrument.
 *
 * @param symbol As spelled in the market.
 * @param date ISO date.
 * @throws {Error} If the instrument had not traded by that date.
 */
export function explainScore(market: Market, symbol: string, date: string): ScoreExplanation {
  const records = market.recordsUntil(Number.MAX_SAFE_INTEGER);
  const { session, close } = sessionBy(records, symbol, date);
  const kept: Snapshot[] = [];
  const engine = new ScoringEngine(market, {
    clear: () => {},
    setNewest: () => {},
    addClosed: (closed) => {
      if (closed.at === close && closed.instrument.symbol === symbol) kept.push(closed);
    },
  });
  engine.refresh(close);
  const [snapshot] = kept;
  if (snapshot === undefined) throw new Error(`${symbol} has no score at the close of ${session}.`);
  const results = FACTORS.map((factor) => snapshot.factors[factor]);
  return {
    methodVersion: runningMethod().version,
    session,
    snapshot,
    evidence: results.reduce(
      (sum, { weight, confidence, z }) => sum + weight * confidence * (z ?? 0),
      0,
    ),
    scale: Math.hypot(...results.map(({ weight }) => weight)),
  };
}

/** The last session, on or before a date, of the asset class to which the instrument belongs. */
function sessionBy(records: readonly InstrumentRecords[], symbol: string, date: string) {
  const own = records.find(({ instrument }) => instrument.symbol === symbol);
  const first = own?.bars.at(0)?.session;
  if (own === undefined || first === undefined || first > date) {
    throw new Error(
      `${symbol} has no bar by ${date}${first === undefined ? "" : `: its first is of ${first}`}.`,
    );
  }
  const { assetClass } = own.instrument;
  const fellows = records.filter(({ instrument }) => instrument.assetClass === assetClass);
  const newest = fellows
    .flatMap(({ bars }) => [...bars].findLast(({ session }) => session <= date) ?? [])
    .reduce((latest, bar) => (bar.availableAt > latest.availableAt ? bar : latest));
  return { session: newest.session, close: newest.availableAt };
}
