import { z } from "zod";
import { roundTo } from "../answers/rounding.ts";
import { InstantAnswer, isoInstant } from "../answers/shared-members.ts";
import { runningCandidate } from "../method/running.ts";
import { CANDIDATE, CANDIDATE_PARTS, CANDIDATE_RULES } from "../score/candidate.ts";
import type { PastSnapshot } from "../score/snapshot.ts";

/** Decimals shown for z values. */
const DECIMALS = 4;

/**
 * The candidate methods and their results for one instrument. A candidate method is computed
 * alongside the method in use, but is not part of any score (`CANDIDATE` in
 * src/score/candidate.ts).
 */
export const CandidatesAnswer = z.object({
  [CANDIDATE.name]: z
    .object({
      method: z.string().describe("Name and first 16 digits of its hash."),
      registered: z.string().describe("ISO date; only later sessions can support it."),
      rule: z.string().describe("When it may become part of a method."),
      asOf: InstantAnswer.nullable().describe("The close it was computed at; null: not computed."),
      z: z.number().nullable().describe("Mean of the available parts, positive is bullish."),
      parts: z.record(z.enum(CANDIDATE_PARTS), z.number().nullable()).nullable(),
    })
    .optional()
    .describe("Absent for asset classes that it does not cover."),
});

/** Renders the candidate methods for the instrument of a snapshot. */
export function candidatesAnswer({
  instrument,
  candidate,
}: PastSnapshot): z.input<typeof CandidatesAnswer> {
  if (instrument.assetClass !== CANDIDATE_RULES.assetClass) return {};
  const decimals = (value: number | null) => (value === null ? null : roundTo(value, DECIMALS));
  return {
    [CANDIDATE.name]: {
      method: candidate?.version ?? runningCandidate().version,
      registered: CANDIDATE.registered,
      rule: CANDIDATE.rule.text,
      asOf: candidate ? isoInstant(candidate.at) : null,
      z: decimals(candidate?.z ?? null),
      parts: candidate
        ? {
            surprise: decimals(candidate.parts.surprise),
            residualMomentum: decimals(candidate.parts.residualMomentum),
            reversal: decimals(candidate.parts.reversal),
          }
        : null,
    },
  };
}
