import { roundedSignal } from "../../answers/signal-point.ts";
import { normalQuantile } from "../../factors/statistics.ts";
import { CANDIDATE } from "../../score/candidate.ts";
import { THRESHOLDS } from "../../score/signal-hysteresis.ts";
import type { Snapshot } from "../../score/snapshot.ts";
import type { Subject } from "./question.ts";
import type { ReturnGrid } from "./return-grid.ts";
import { createSignalCount, type SignalCount } from "./signal-count.ts";

/** The service's statement about one instrument at one close. */
export interface Statement {
  /** The factor's z, or that of the composite: 100 Phi(z) is the score. */
  readonly z: number;
  /** 1 for LONG, -1 for SHORT, 0 for WAIT. */
  readonly call: -1 | 0 | 1;
  /** The published score with two decimals; of the composite alone. */
  readonly score?: number;
}

/** Statements at one graded date. */
export interface PanelDate {
  /** Index of the session in the grid. */
  readonly place: number;
  /** One per row of the grid; absent where not graded or without a value. */
  readonly statements: readonly (Statement | undefined)[];
  /** Graded instruments with a bar in the session, with a value or not. */
  readonly trading: number;
}

/** Statements about a class, date by date. */
export interface Panel {
  readonly dates: readonly PanelDate[];
  /** Signals over all sessions from the first graded date on. */
  readonly signals: SignalCount;
}

/** A panel filled during the replay. */
export interface PanelCollector {
  /** Adds the final snapshot of a session. */
  add(snapshot: Snapshot): void;
  panel(): Panel;
}

/** Instruments and dates to collect. */
interface Wanted {
  readonly subject: Subject;
  readonly grid: ReturnGrid;
  /** Rows of the grid that are graded. */
  readonly graded: ReadonlySet<number>;
  /** Session indexes of the graded dates, ascending. */
  readonly places: readonly number[];
}

/** Collects the statements of the graded dates from the engine's final snapshots. */
export function createCollector({ subject, grid, graded, places }: Wanted): PanelCollector {
  const rows = new Map(
    [...graded].map((row) => [grid.rows[row]?.instrument.symbol ?? "", row] as const),
  );
  const dates = places.map((place) => ({
    place,
    statements: new Array<Statement | undefined>(grid.rows.length).fill(undefined),
    trading: 0,
  }));
  const byClose = new Map(dates.map((date) => [grid.sessions[date.place]?.close, date]));
  const start = grid.sessions[places[0] ?? Number.POSITIVE_INFINITY]?.close;
  const signals = createSignalCount();

  const add = (snapshot: Snapshot) => {
    const row = rows.get(snapshot.instrument.symbol);
    if (row === undefined || start === undefined || snapshot.at < start) return;
    if (snapshot.price?.at !== snapshot.at) return;
    signals.add(snapshot);
    const date = byClose.get(snapshot.at);
    if (date === undefined) return;
    date.trading++;
    date.statements[row] = statementOf(snapshot, subject);
  };
  return { add, panel: () => ({ dates, signals: signals.read() }) };
}

const CALLS = { LONG: 1, WAIT: 0, SHORT: -1 } as const;

/** The call of the composite is its signal; other subjects use the same thresholds without smoothing. */
function statementOf(snapshot: Snapshot, subject: Subject): Statement | undefined {
  if (subject === "composite") {
    if (snapshot.coverage === 0) return undefined;
    return {
      z: normalQuantile(snapshot.score / 100),
      call: CALLS[snapshot.signal.direction],
      score: roundedSignal(snapshot).scoreRaw,
    };
  }
  const z =
    subject === CANDIDATE.name ? (snapshot.candidate?.z ?? null) : snapshot.factors[subject].z;
  return z === null ? undefined : { z, call: callOf(z) };
}

const LONG_Z = normalQuantile(THRESHOLDS.enterLong / 100);
const SHORT_Z = normalQuantile(THRESHOLDS.enterShort / 100);

function callOf(z: number): Statement["call"] {
  if (z >= LONG_Z) return 1;
  return z <= SHORT_Z ? -1 : 0;
}
