import type { Snapshot } from "../../score/snapshot.ts";
import { SESSIONS_PER_YEAR } from "./question.ts";

/** Statistics of the published signals over all sessions. */
export interface SignalCount {
  /** Number of sessions, summed over instruments. */
  readonly sessions: number;
  /** Fraction of the sessions in which the signal had each direction; the fractions add up to 1. */
  readonly shares: Readonly<Record<Direction, number>>;
  readonly changesPerYear: number;
  /** Fraction of the changes of direction that were reversed within five sessions. */
  readonly flipBackShare: number;
}

type Direction = Snapshot["signal"]["direction"];

const FLIP_BACK_SESSIONS = 5;

/** Current signal of an instrument, and when it last changed. */
interface OpenSignal {
  readonly direction: Direction;
  readonly before: Direction | undefined;
  /** Number of sessions since the last change. */
  readonly age: number;
}

/**
 * Creates a counter of signals and their changes. Snapshots are added one by one, oldest first per
 * instrument.
 */
export function createSignalCount() {
  const states = new Map<string, OpenSignal>();
  const shares = { LONG: 0, WAIT: 0, SHORT: 0 };
  let sessions = 0;
  let years = 0;
  let changes = 0;
  let flipsBack = 0;
  return {
    add({ instrument, signal: { direction } }: Snapshot): void {
      sessions++;
      years += 1 / SESSIONS_PER_YEAR[instrument.assetClass];
      shares[direction]++;
      const last = states.get(instrument.symbol);
      if (last?.direction === direction) {
        states.set(instrument.symbol, { ...last, age: last.age + 1 });
        return;
      }
      states.set(instrument.symbol, { direction, before: last?.direction, age: 1 });
      if (last === undefined) return;
      changes++;
      if (last.before === direction && last.age <= FLIP_BACK_SESSIONS) flipsBack++;
    },
    read: (): SignalCount => ({
      sessions,
      shares: {
        LONG: shares.LONG / Math.max(1, sessions),
        WAIT: shares.WAIT / Math.max(1, sessions),
        SHORT: shares.SHORT / Math.max(1, sessions),
      },
      changesPerYear: years === 0 ? 0 : changes / years,
      flipBackShare: changes === 0 ? 0 : flipsBack / changes,
    }),
  };
}
