import type { LiveClaimFigures } from "./live-claim.ts";
import type {
  DatedVerdict,
  GradedRun,
  TrackRecordFigures,
  TrackRecordTerms,
} from "./track-record.ts";

/** The track record of one asset class over one horizon, of the runs of one method. */
export interface ClassTrackRecord {
  readonly methodHash: string;
  readonly figures: TrackRecordFigures;
  /** Verdicts due so far; empty for every horizon except the headline one. */
  readonly verdicts: readonly DatedVerdict[];
  /** Graded runs, oldest first. */
  readonly runs: readonly GradedRun[];
}

/**
 * Track record of an asset class over one horizon, with the dates that show how far it is settled.
 */
export interface ServedTrackRecord extends ClassTrackRecord {
  /**
   * Earliest time at which the first run of the log can be settled, Unix milliseconds on the
   * market's clock.
   */
  readonly expectedAt: number;
  /**
   * Close of the oldest run of the class whose outcomes are incomplete or can still be corrected,
   * Unix milliseconds; `null` if there is no such run.
   */
  readonly openSince: number | null;
}

/** A claim of the log, with its figures. */
export interface ServedClaim extends LiveClaimFigures {
  readonly methodHash: string;
  /** As in `ServedTrackRecord`, of the asset class of the claim. */
  readonly openSince: number | null;
}

/**
 * The track record of the whole log: for each asset class and horizon one record for each method
 * that has graded runs, the newest first, and at least one for the running method. Instants are
 * Unix milliseconds on the market's clock.
 */
export interface TrackRecord {
  /** Name of the log. */
  readonly origin: string;
  readonly beganAt: number;
  /** Number of log entries from which the track records are computed. */
  readonly size: number;
  readonly terms: TrackRecordTerms;
  readonly records: readonly ServedTrackRecord[];
  /** The claims that the log registers, the newest first. */
  readonly claims: readonly ServedClaim[];
}
