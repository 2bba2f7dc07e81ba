import { roundScorePoints } from "../../answers/rounding.ts";
import type { AssetClass } from "../../market/instrument.ts";
import { CANDIDATE } from "../../score/candidate.ts";
import type { ExposurePercentiles } from "../../score/exposures.ts";
import { SIGNAL_THRESHOLDS } from "../../score/signal-hysteresis.ts";
import type { Snapshot } from "../../score/snapshot.ts";
import { normalQuantile } from "../../statistics/normal.ts";
import type { BacktestSubject } from "./question.ts";
import type { ReturnGrid } from "./return-grid.ts";
import { createSignalCount, type SignalCount } from "./signal-count.ts";

/** What the service states about one instrument at one close. */
export interface SignalStatement {
  /** z of the factor or of the composite; the score is 100 Phi(z). */
  readonly z: number;
  /** Direction of the statement: 1 for LONG, -1 for SHORT, 0 for WAIT. */
  readonly call: -1 | 0 | 1;
  /** The published score with two decimals; only for the composite. */
  readonly score?: number;
  /** Exposures at the close; only if the instrument traded with other stocks. */
  readonly exposures?: ExposurePercentiles;
  /** Steadiness in [0, 100]; only for the composite, and only if the instrument was ranked. */
  readonly steadiness?: number;
}

/** Statements on one graded date. */
export interface PanelDate {
  /** Index of the session in the grid. */
  readonly place: number;
  /** One element per row of the grid; `undefined` if the row is not graded or has no value. */
  readonly statements: readonly (SignalStatement | undefined)[];
  /** Number of graded instruments with a bar in the session, with or without a value. */
  readonly trading: number;
}

/** Statements about the instruments of a class, date by date. */
export interface StatementPanel {
  /** The graded dates. */
  readonly dates: readonly PanelDate[];
  /** Every session from the first graded date on; the graded dates are among them. */
  readonly sessions: readonly PanelDate[];
  /**
   * By session of the grid from the first graded date on: the published direction of each row after
   * its close (1, 0 or -1), hysteresis included; 0 for a row that is not graded or trades no more.
   */
  readonly calls: readonly (Int8Array | undefined)[];
  /** Counts of the signals in all sessions from the first graded date on. */
  readonly signals: SignalCount;
}

/** Collects a panel during the replay. */
export interface PanelCollector {
  /** Adds the final snapshot of an instrument in a session. */
  add(snapshot: Snapshot): void;
  panel(): StatementPanel;
}

/** Instruments and dates to collect statements for. */
interface CollectorOptions {
  readonly subject: BacktestSubject;
  readonly grid: ReturnGrid;
  /** Indices of the graded rows of the grid. */
  readonly graded: ReadonlySet<number>;
  /** Session indices of the graded dates, ascending. */
  readonly places: readonly number[];
  /** Session indices of all dates whose statements are kept; the graded dates are among them. */
  readonly sessions: readonly number[];
}

/**
 * Creates a collector that keeps the statements of the graded dates from the engine's final
 * snapshots.
 */
export function createPanelCollector({
  subject,
  grid,
  graded,
  places,
  sessions,
}: CollectorOptions): PanelCollector {
  const rows = new Map(
    [...graded].map((row) => [grid.rows[row]?.instrument.symbol ?? "", row] as const),
  );
  const kept = sessions.map((place) => ({
    place,
    statements: new Array<SignalStatement | undefined>(grid.rows.length).fill(undefined),
    trading: 0,
  }));
  const byClose = new Map(kept.map((date) => [grid.sessions[date.place]?.close, date]));
  const start = grid.sessions[places[0] ?? Number.POSITIVE_INFINITY]?.close;
  const placeOf = new Map(grid.sessions.map(({ close }, place) => [close, place]));
  const changes = new Map<number, (readonly [row: number, call: SignalStatement["call"]])[]>();
  const signals = createSignalCount();

  const add = (snapshot: Snapshot) => {
    const row = rows.get(snapshot.instrument.symbol);
    if (row === undefined || start === undefined || snapshot.at < start) return;
    if (snapshot.price?.at !== snapshot.at) return;
    signals.add(snapshot);
    const session = placeOf.get(snapshot.at) ?? Number.NaN;
    const change = [row, CALLS[snapshot.signal.direction]] as const;
    const known = changes.get(session);
    if (known) known.push(change);
    else changes.set(session, [change]);
    const date = byClose.get(snapshot.at);
    if (date === undefined) return;
    date.trading++;
    date.statements[row] = statementOf(snapshot, subject);
  };
  const calls = () => {
    const directions = new Int8Array(grid.rows.length);
    return grid.sessions.map((_, place) => {
      if (place < (places[0] ?? Number.POSITIVE_INFINITY)) return undefined;
      for (const [row, call] of changes.get(place) ?? []) directions[row] = call;
      return directions.map((call, row) => (place > (grid.rows[row]?.last ?? -1) ? 0 : call));
    });
  };
  const wanted = new Set(places);
  const dates = kept.filter(({ place }) => wanted.has(place));
  return {
    add,
    panel: () => ({ dates, sessions: kept, calls: calls(), signals: signals.read() }),
  };
}

const CALLS = { LONG: 1, WAIT: 0, SHORT: -1 } as const;

/**
 * The statement in a snapshot; `undefined` without a value. The call of the composite is the
 * published signal; the calls of other subjects use the thresholds of the signal without smoothing.
 */
function statementOf(snapshot: Snapshot, subject: BacktestSubject): SignalStatement | undefined {
  const exposures = snapshot.exposures && { exposures: snapshot.exposures };
  if (subject === "composite") {
    if (snapshot.coverage === 0 || snapshot.score === null) return undefined;
    return {
      z: normalQuantile(snapshot.score / 100),
      call: CALLS[snapshot.signal.direction],
      score: roundScorePoints(snapshot.score),
      ...exposures,
      ...(snapshot.steadiness && { steadiness: snapshot.steadiness.value }),
    };
  }
  const z =
    subject === CANDIDATE.name ? (snapshot.candidate?.z ?? null) : snapshot.factors[subject].z;
  return z === null
    ? undefined
    : { z, call: callOf(z, snapshot.instrument.assetClass), ...exposures };
}

function callOf(z: number, assetClass: AssetClass): SignalStatement["call"] {
  const { enterLong, enterShort } = SIGNAL_THRESHOLDS[assetClass];
  if (z >= normalQuantile(enterLong / 100)) return 1;
  return z <= normalQuantile(enterShort / 100) ? -1 : 0;
}
