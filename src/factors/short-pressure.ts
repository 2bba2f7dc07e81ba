import type { ShortVolume } from "../market/records.ts";
import {
  BASELINE_SESSIONS,
  decayFactor,
  ewmaStep,
  MIN_BASELINE_SESSIONS,
  zAgainstHistory,
} from "../statistics/statistics.ts";

/** Constants of the short ratio. */
export const SHORT_PRESSURE_RULES = {
  /** Half-life of the z in sessions: the measured effect lasts one session. */
  halfLifeSessions: 1,
  /** Minimum off-exchange volume in shares; with less, the session's ratio is noise. */
  minTotalShares: 10_000,
} as const;

/** Short ratio: the fraction of off-exchange volume that is marked short. */
export interface ShortReading {
  /** Short ratio of the newest session with enough volume, in [0, 1]. */
  readonly ratio: number | null;
  /**
   * Exponentially decayed mean of the z of the short ratios, in [-3, 3]; each ratio is compared
   * with the ratios of the 60 sessions before it.
   */
  readonly z: number | null;
  /** When the short ratio became known, Unix milliseconds. */
  readonly ratioAt: number | null;
  /**
   * When the newest short volume became known, even if it is too small for a ratio, Unix
   * milliseconds.
   */
  readonly asOf: number | null;
}

/** Short reading of an instrument that has no short volume yet. */
export const NO_SHORT_READING: ShortReading = { ratio: null, z: null, ratioAt: null, asOf: null };

/** Tracks the short ratio of one instrument. */
export interface ShortPressureTracker {
  /** Adds the short volume of a session; sessions are added oldest first. */
  add(volume: ShortVolume): void;
  read(): ShortReading;
}

/**
 * Creates a tracker whose history is still empty. The z is an exponentially weighted mean with a
 * half-life of one session, started with the first z.
 */
export function createShortPressureTracker(): ShortPressureTracker {
  const lambda = decayFactor(1, SHORT_PRESSURE_RULES.halfLifeSessions);
  const past: number[] = [];
  let reading = NO_SHORT_READING;
  return {
    add({ shortShares, totalShares, availableAt }) {
      reading = { ...reading, asOf: availableAt };
      if (totalShares < SHORT_PRESSURE_RULES.minTotalShares) return;
      const ratio = shortShares / totalShares;
      const z = zAgainstHistory(ratio, past, MIN_BASELINE_SESSIONS);
      const decayed = z === undefined ? null : ewmaStep(reading.z ?? undefined, z, lambda);
      reading = { ratio, z: decayed, ratioAt: availableAt, asOf: availableAt };
      if (past.push(ratio) > BASELINE_SESSIONS) past.shift();
    },
    read: () => reading,
  };
}
