import type { ShortVolume } from "../market/records.ts";
import {
  BASELINE_SESSIONS,
  decay,
  ewStep,
  MIN_BASELINE_SESSIONS,
  ownHistoryZ,
} from "./statistics.ts";

/** Constants of the short ratio. */
export const SHORT_RULES = {
  /** Half-life in sessions: the measured effect lasts one. */
  halfLifeSessions: 1,
  /** Off-exchange shares below which a session's ratio is noise. */
  minTotalShares: 10_000,
} as const;

/** Share of off-exchange volume that is marked short. */
export interface ShortReading {
  /** Short ratio of the newest session with enough volume, in [0, 1]. */
  readonly ratio: number | null;
  /** Decayed z of the ratios, each against the 60 sessions before it, in [-3, 3]. */
  readonly z: number | null;
  /** When that ratio became known, Unix milliseconds. */
  readonly ratioAt: number | null;
  /** When the newest short volume became known, even one too small for a ratio. */
  readonly asOf: number | null;
}

/** Reading before the first short volume. */
export const NO_SHORTS: ShortReading = { ratio: null, z: null, ratioAt: null, asOf: null };

/** Running short ratio of one instrument. */
export interface ShortPressure {
  /** Adds a session, oldest first. */
  add(volume: ShortVolume): void;
  read(): ShortReading;
}

/** Creates an empty history. The z is an EW(1) over sessions, seeded with the first. */
export function createShortPressure(): ShortPressure {
  const lambda = decay(1, SHORT_RULES.halfLifeSessions);
  const past: number[] = [];
  let reading = NO_SHORTS;
  return {
    add({ shortShares, totalShares, availableAt }) {
      reading = { ...reading, asOf: availableAt };
      if (totalShares < SHORT_RULES.minTotalShares) return;
      const ratio = shortShares / totalShares;
      const z = ownHistoryZ(ratio, past, MIN_BASELINE_SESSIONS);
      const decayed = z === undefined ? null : ewStep(reading.z ?? undefined, z, lambda);
      reading = { ratio, z: decayed, ratioAt: availableAt, asOf: availableAt };
      if (past.push(ratio) > BASELINE_SESSIONS) past.shift();
    },
    read: () => reading,
  };
}
