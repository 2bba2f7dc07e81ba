import type { PastSnapshot } from "../score/snapshot.ts";
import { isoInstant, rounded } from "./common.ts";

/** Renders a snapshot as one of several instants; the signal log records the same members. */
export const signalPoint = (snapshot: PastSnapshot) => ({
  asOf: isoInstant(snapshot.at),
  status: snapshot.status,
  ...signalFields(snapshot),
});

/** The signal members of an answer. */
export const signalFields = ({ score, confidence, coverage, signal }: PastSnapshot) => ({
  signal: signal.direction,
  score: Math.round(score),
  scoreRaw: rounded(score, 2),
  scoreSmoothed: rounded(signal.smoothed, 2),
  confidence: rounded(confidence, 4),
  coverage: rounded(coverage, 4),
});
