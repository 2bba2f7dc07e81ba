import type { CandidateReading } from "../score/candidate.ts";
import { runningCandidate } from "./running.ts";

/** A reading in the form in which it is recorded: with the version that computed it. */
export const recordedCandidate = (
  reading: CandidateReading | undefined,
): CandidateReading | undefined =>
  reading && {
    version: reading.version ?? runningCandidate().version,
    at: reading.at,
    z: reading.z,
    parts: reading.parts,
  };
