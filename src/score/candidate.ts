import { EARNINGS_SURPRISE_RULES } from "../factors/earnings-surprise.ts";
import { MIN_PEER_GROUP_SIZE } from "../factors/ecdf.ts";
import { normalScores } from "../factors/normal-scores.ts";
import { mean } from "../factors/statistics.ts";

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
 * A candidate method, computed and recorded alongside the method in use but not part of any score:
 * the equal-weighted mean of the normal scores of earnings surprise, residual momentum and
 * one-month reversal, the last two relative to the sector. Its parts were selected on data up to
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

/** Measurements of the instruments of a class, all in the same order; `NaN` if missing. */
export interface CandidateInputs {
  readonly sectors: readonly (string | null)[];
  readonly surprise: Float64Array;
  readonly residualMomentum: Float64Array;
  /** Log return over `reversalSessions`. */
  readonly monthReturn: Float64Array;
}

/**
 * Computes the results of the candidate method for the instruments of a class at a close, in the
 * order of the inputs.
 */
export function computeCandidateReadings(
  inputs: CandidateInputs,
  at: number,
): readonly CandidateReading[] {
  const ranking = new Ranking(inputs);
  return inputs.sectors.map((_, position) => new RankedReading(ranking, position, at));
}

/** Normal scores of the instruments of a class by position; `NaN` if missing. */
type Scores = Readonly<Record<CandidatePart, Float64Array>>;

/**
 * Ranks the instruments of an asset class only when their scores are first read, since most
 * snapshots are replaced before anyone reads the result of the candidate method.
 */
class Ranking {
  #inputs: CandidateInputs | undefined;
  #scores: Scores | undefined;

  constructor(inputs: CandidateInputs) {
    this.#inputs = inputs;
  }

  get scores(): Scores {
    if (this.#inputs !== undefined) this.#scores = rank(this.#inputs);
    this.#inputs = undefined;
    return this.#scores as Scores;
  }
}

class RankedReading implements CandidateReading {
  readonly at: number;
  readonly #ranking: Ranking;
  readonly #position: number;

  constructor(ranking: Ranking, position: number, at: number) {
    this.#ranking = ranking;
    this.#position = position;
    this.at = at;
  }

  get parts(): CandidateReading["parts"] {
    const { surprise, residualMomentum, reversal } = this.#ranking.scores;
    const at = (scores: Float64Array): number | null => {
      const score = scores[this.#position] as number;
      return Number.isNaN(score) ? null : score;
    };
    return {
      surprise: at(surprise),
      residualMomentum: at(residualMomentum),
      reversal: at(reversal),
    };
  }

  get z(): number | null {
    const available = Object.values(this.parts).filter((part) => part !== null);
    return available.length === 0 ? null : mean(available);
  }

  toJSON(): CandidateReading {
    return { at: this.at, z: this.z, parts: this.parts };
  }
}

function rank({ sectors, surprise, residualMomentum, monthReturn }: CandidateInputs): Scores {
  return {
    surprise: normalScores(surprise, CANDIDATE_RULES.minPeers),
    residualMomentum: normalScores(
      sectorRelative(residualMomentum, sectors),
      CANDIDATE_RULES.minPeers,
    ),
    reversal: normalScores(
      sectorRelative(monthReturn, sectors).map((value) => -value),
      CANDIDATE_RULES.minPeers,
    ),
  };
}

/**
 * Subtracts from each value the mean of its sector, or of the class if the sector is unknown or too
 * small.
 */
function sectorRelative(values: Float64Array, sectors: readonly (string | null)[]): Float64Array {
  const bySector = new Map<string | null, number[]>();
  for (const [position, sector] of sectors.entries()) {
    const value = values[position] as number;
    if (Number.isNaN(value)) continue;
    const members = bySector.get(sector) ?? [];
    members.push(value);
    bySector.set(sector, members);
  }
  const classMean = mean([...bySector.values()].flat());
  const means = new Map<string | null, number>();
  for (const [sector, members] of bySector) {
    const isOwn = sector !== null && members.length >= CANDIDATE_RULES.minSector;
    means.set(sector, isOwn ? mean(members) : classMean);
  }
  return values.map(
    (value, position) => value - (means.get(sectors[position] ?? null) ?? classMean),
  );
}
