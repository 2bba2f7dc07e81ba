import type { ReportedBar } from "../../market/records.ts";
import type { FindSegment } from "./price-paths.ts";
import type { Profile } from "./profile.ts";
import type { RngFor } from "./rng.ts";

/** What does not change while a sandbox runs. */
export interface SandboxWorld {
  /** Every instrument of the universe, in its order. */
  readonly profiles: readonly Profile[];
  readonly rngFor: RngFor;
  readonly segmentOf: FindSegment;
  /** Length of a simulated day in milliseconds. */
  readonly dayMs: number;
  /** Label of the session of a day (since the Unix epoch): its first instant. */
  readonly sessionOf: (day: number) => string;
}

/** One instrument on one simulated day, as its feeds see it. */
export interface DayContext {
  readonly world: SandboxWorld;
  readonly profile: Profile;
  /** Days since the Unix epoch. */
  readonly day: number;
}

/** A day on which the instrument traded. */
export interface TradedDayContext extends DayContext {
  readonly bar: ReportedBar;
}

/**
 * Prefix of the ids of an instrument's records, by day. The last prefix is kept, since the records
 * of a day are read one after another.
 */
export function idPrefixes({ index }: Pick<Profile, "index">): (day: number) => string {
  let last = { day: Number.NaN, prefix: "" };
  return (day) => {
    if (day !== last.day) last = { day, prefix: `${index}.${day.toString(36)}.` };
    return last.prefix;
  };
}
