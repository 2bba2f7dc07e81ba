import type { Bar } from "../../market/records.ts";
import type { EraOf } from "./price-regimes.ts";
import type { Profile } from "./profile.ts";
import type { Draws } from "./rng.ts";

/** What does not change while a sandbox runs. */
export interface Stage {
  readonly draws: Draws;
  readonly eraOf: EraOf;
  /** Length of a simulated day in milliseconds. */
  readonly dayMs: number;
  /** Label of the session of a day (since the Unix epoch): its first instant. */
  readonly sessionOf: (day: number) => string;
}

/** One instrument on one simulated day, as its feeds see it. */
export interface Scene {
  readonly stage: Stage;
  readonly profile: Profile;
  /** Days since the Unix epoch. */
  readonly day: number;
}

/** A scene in which trading took place. */
export interface TradedScene extends Scene {
  readonly bar: Bar;
}

/**
 * Starts of the ids of an instrument's records by their day; the last one is remembered, for records
 * of a day are read one after another.
 */
export function idPrefixes({ index }: Pick<Profile, "index">): (day: number) => string {
  let last = { day: Number.NaN, prefix: "" };
  return (day) => {
    if (day !== last.day) last = { day, prefix: `${index}.${day.toString(36)}.` };
    return last.prefix;
  };
}
