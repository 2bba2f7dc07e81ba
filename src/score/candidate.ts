import { EARNINGS_SURPRISE_RULES } from "../factors/earnings-surprise.ts";
import { MIN_PEER_GROUP_SIZE } from "../statistics/ecdf.ts";
import { meanOfKnown } from "../statistics/statistics.ts";
import { type CloseTables, isReferenceStage } from "./close-tables.ts";

/** The signals whose mean is the result of the candidate method (`CANDIDATE`). */
export const CANDIDATE_PARTS = ["surprise", "residualMomentum", "reversal"] as const;
type CandidatePart = (typeof CANDIDATE_PARTS)[number];

/**
 * The constants of the candidate method; its residual momentum also uses constants of the method in
 * use.
 */
export const CANDIDATE_RULES = {
  assetClass: "stock",
  parts: CANDIDATE_PARTS,
  surprise: EARNINGS_SURPRISE_RULES,
  /** Number of sessions over which the reversal is measured. */
  reversalSessions: 21,
  /**
   * Minimum number of measured instruments in a sector; with fewer, the class mean is subtracted
   * instead of the sector mean.
   */
  minSector: 5,
  /** Minimum number of instruments for a ranking. */
  minPeers: MIN_PEER_GROUP_SIZE,
} as const;

/**
 * The registered candidate method, recorded beside the score of stocks, which has its parts: the
 * equal-weighted mean of the normal scores of earnings surprise, residual momentum and one-month reversal,
 * the last two relative to the sector. Its parts were selected on data up to
 * its registration, so only later sessions can support it, under the promotion rule that was
 * registered with it.
 */
export const CANDIDATE = {
  name: "method-2",
  /**
   * ISO date of registration. Sessions up to this date were known when the candidate was designed.
   */
  registered: "2026-11-23",
  rule: {
    minSessions: 252,
    horizon: 5,
    costBp: 10,
    text: "It becomes part of a method only after at least 252 live sessions after its registration, when the 95 % interval of its neutral rank correlation with returns over 5 sessions lies above 0 and its decile book over 5 sessions earns more than 0 after costs of 10 basis points a trade.",
  },
} as const;

/** The result of the candidate method for one instrument at the close of a session. */
export interface CandidateReading {
  /** Version that computed a recorded reading; absent if it is the candidate in use. */
  readonly version?: string;
  /** Close of the session, Unix milliseconds. */
  readonly at: number;
  /** Mean of the available parts, positive if bullish; `null` if no part is available. */
  readonly z: number | null;
  /** Normal scores within the class; `null` if a part cannot be measured. */
  readonly parts: Readonly<Record<CandidatePart, number | null>>;
}

const orNull = (value: number): number | null => (Number.isNaN(value) ? null : value);

/**
 * The result of the candidate method for a stock at a close; a part that too few stocks have is not
 * available.
 */
export function candidateReading(
  { normals }: { readonly normals: Readonly<Record<CandidatePart, number>> },
  tables: CloseTables,
): CandidateReading {
  const part = (name: CandidatePart): number =>
    isReferenceStage(tables, name) ? Number.NaN : normals[name];
  const surprise = part("surprise");
  const residualMomentum = part("residualMomentum");
  const reversal = part("reversal");
  return {
    at: tables.at,
    z: orNull(meanOfKnown([surprise, residualMomentum, reversal])),
    parts: {
      surprise: orNull(surprise),
      residualMomentum: orNull(residualMomentum),
      reversal: orNull(reversal),
    },
  };
}
