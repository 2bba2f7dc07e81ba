import type { ReportedBar } from "../../market/records.ts";
import type { FindSegment } from "./price-paths.ts";
import type { InstrumentProfile } from "./profile.ts";
import type { RngFor } from "./rng.ts";

/** The constants of a running sandbox. */
export interface SandboxWorld {
  /** Profiles of all instruments, in the order of the universe. */
  readonly profiles: readonly InstrumentProfile[];
  readonly rngFor: RngFor;
  readonly segmentOf: FindSegment;
  /** Length of a simulated day in milliseconds. */
  readonly dayMs: number;
  /**
   * Label of a day's session: the first instant of that day. `day` is counted from the Unix epoch.
   */
  readonly sessionOf: (day: number) => string;
}

/** One instrument on one simulated day, for which feeds generate records. */
export interface DayContext {
  readonly world: SandboxWorld;
  readonly profile: InstrumentProfile;
  /** Days since the Unix epoch. */
  readonly day: number;
}

/** An instrument on a day on which it traded, with its bar. */
export interface TradedDayContext extends DayContext {
  readonly bar: ReportedBar;
}

/**
 * Creates a function that gives the id prefix of an instrument's records of a day. The last prefix
 * is cached, since the records of a day are read one after another.
 */
export function createIdPrefixes({
  index,
}: Pick<InstrumentProfile, "index">): (day: number) => string {
  let last = { day: Number.NaN, prefix: "" };
  return (day) => {
    if (day !== last.day) last = { day, prefix: `${index}.${day.toString(36)}.` };
    return last.prefix;
  };
}
